/** What the launcher reads from the environment: the knobs of docs, with defaults and bounds, and nothing else. */
import { join, resolve } from 'node:path';
import { KEY_LENGTH_MIN } from '@switchyard/contracts';
import { z } from 'zod';
import { SetupError } from './setup-error.ts';

/** The top of the repository. */
export const ROOT = join(import.meta.dirname, '..', '..', '..');

const port = z.coerce.number().int().min(1).max(65_535);
const INSTANCES_MAX = 16;

const environment = z.object({
  /** The edge's address. */
  PORT: port.default(8080),
  HOST: z.string().default('127.0.0.1'),
  /** Where local data lives; a relative path starts at the top of the repository. */
  SWITCHYARD_DATA: z.string().default('.data'),
  /** A key with every permission, for automation. Without it one is made at the first start. */
  SWITCHYARD_KEY: z.string().min(KEY_LENGTH_MIN).optional(),
  /** `off`: no Docker engine is looked for. */
  SWITCHYARD_COMPUTERS: z.enum(['on', 'off']).default('on'),
  /** Instances of services, `model-router=2,control=2`. */
  SWITCHYARD_SCALE: z
    .string()
    .regex(/^([a-z-]+=\d+)?(,[a-z-]+=\d+)*$/, 'name=number, separated by commas')
    .default('')
    .transform(readScale)
    .refine(
      (scale) => Object.values(scale).every((count) => count >= 1 && count <= INSTANCES_MAX),
      `1 to ${INSTANCES_MAX} instances`,
    ),
  /** Only these services are started, `edge,control`; for tests, and for machines that carry a part. */
  SWITCHYARD_SERVICES: z
    .string()
    .transform((names) => names.split(',').map((name) => name.trim()))
    .optional(),
  /** Ports of the servers that we run; chosen free unless set (NATS: 4222 if it is free). */
  SWITCHYARD_NATS_PORT: port.optional(),
  SWITCHYARD_MONGODB_PORT: port.optional(),
});

/** The names of all settings of the launcher. */
export const LAUNCHER_VARIABLES: readonly string[] = Object.keys(environment.shape);

export interface LauncherConfig {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataFolder: string;
  readonly key: string | undefined;
  readonly computers: boolean;
  readonly scale: Readonly<Record<string, number>>;
  readonly services: readonly string[] | undefined;
  readonly natsPort: number | undefined;
  readonly mongoPort: number | undefined;
}

/** Throws SetupError naming every setting that is wrong. An empty variable counts as not set. */
export function readLauncherConfig(env: NodeJS.ProcessEnv): LauncherConfig {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(set);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `    ${issue.path.join('.')}: ${issue.message}`);
    throw new SetupError(
      ['Wrong settings in the environment:', ...lines].join('\n'),
      'Correct or unset these variables.',
    );
  }
  const values = parsed.data;
  return {
    host: values.HOST,
    port: values.PORT,
    dataFolder: resolve(ROOT, values.SWITCHYARD_DATA),
    key: values.SWITCHYARD_KEY,
    computers: values.SWITCHYARD_COMPUTERS === 'on',
    scale: values.SWITCHYARD_SCALE,
    services: values.SWITCHYARD_SERVICES,
    natsPort: values.SWITCHYARD_NATS_PORT,
    mongoPort: values.SWITCHYARD_MONGODB_PORT,
  };
}

function readScale(text: string): Record<string, number> {
  const pairs = text.split(',').filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => pair.split('=')).map(([name, count]) => [name!, Number(count)]),
  );
}

/** The launcher's settings: environment variables with defaults and bounds. */
import { join, resolve } from 'node:path';
import { KEY_LENGTH_MIN, PROVIDERS_SECRET_LENGTH_MIN } from '@switchyard/contracts';
import { z } from 'zod';
import { SetupError } from './setup-error.ts';

/** The top of the repository. */
export const ROOT = join(import.meta.dirname, '..', '..', '..');

const port = z.coerce.number().int().min(1).max(65_535);
const INSTANCES_MAX = 16;

/** The launcher's environment variables. */
export const environment = z.object({
  /** The edge's address. */
  PORT: port.default(8080),
  HOST: z.string().default('127.0.0.1'),
  /** The folder for local data. A relative path starts at the top of the repository. */
  SWITCHYARD_DATA: z.string().default('.data'),
  /** A key with every permission, for automation. Without it, the first start makes one. */
  SWITCHYARD_KEY: z.string().min(KEY_LENGTH_MIN).optional(),
  /** Encrypts the keys of providers that are set through the API. Without it, the first start makes one. */
  SWITCHYARD_PROVIDERS_SECRET: z.string().min(PROVIDERS_SECRET_LENGTH_MIN).optional(),
  /** `off`: the start does not look for a Docker engine. */
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
  /** Starts only these services, `edge,control`: for tests, and for a machine that runs a part of the stack. */
  SWITCHYARD_SERVICES: z
    .string()
    .transform((names) => names.split(',').map((name) => name.trim()))
    .optional(),
  /** Ports of the servers that the launcher starts; by default any free port (NATS: 4222 if it is free). */
  SWITCHYARD_NATS_PORT: port.optional(),
  SWITCHYARD_MONGODB_PORT: port.optional(),
});

const launcherConfig = environment.transform((set) => ({
  host: set.HOST,
  port: set.PORT,
  dataFolder: resolve(ROOT, set.SWITCHYARD_DATA),
  key: set.SWITCHYARD_KEY,
  providersSecret: set.SWITCHYARD_PROVIDERS_SECRET,
  computers: set.SWITCHYARD_COMPUTERS === 'on',
  scale: set.SWITCHYARD_SCALE,
  services: set.SWITCHYARD_SERVICES,
  natsPort: set.SWITCHYARD_NATS_PORT,
  mongoPort: set.SWITCHYARD_MONGODB_PORT,
}));
export type LauncherConfig = z.infer<typeof launcherConfig>;

/** An empty variable counts as not set. @throws SetupError that names every invalid setting */
export function readLauncherConfig(env: NodeJS.ProcessEnv): LauncherConfig {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = launcherConfig.safeParse(set);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `    ${issue.path.join('.')}: ${issue.message}`);
  throw new SetupError(['Invalid environment variables:', ...lines].join('\n'), 'Correct or unset them.');
}

function readScale(text: string): Record<string, number> {
  const pairs = text.split(',').filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => pair.split('=')).map(([name, count]) => [name!, Number(count)]),
  );
}

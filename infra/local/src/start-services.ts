/** Starts the chosen services of the table and waits until they serve. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reachable, urlOf } from './addresses.ts';
import { type LauncherConfig, ROOT } from './config.ts';
import { listenError } from './free-port.ts';
import type { Processes } from './processes.ts';
import type { Progress } from './progress.ts';
import { type StackFacts, serviceEnvironment } from './service-environment.ts';
import type { LocalService } from './services.ts';
import { SetupError } from './setup-error.ts';
import type { ProcessSpec, Supervised } from './supervisor.ts';

/** Longer than the services' own bound on their drain (libs/service). */
const SERVICE_STOP_TIMEOUT_MS = 20_000;
const READY_TIMEOUT_MS = 60_000;
const HEALTH_POLL_EVERY_MS = 50;
const HEALTH_TIMEOUT_MS = 2_000;

interface StartServicesDeps {
  readonly config: LauncherConfig;
  /** What services inherit. */
  readonly env: NodeJS.ProcessEnv;
  readonly services: readonly LocalService[];
  readonly processes: Pick<Processes, 'run' | 'stopping'>;
  readonly progress: Progress;
}

/** The services that the settings name; all without the setting. */
export function chosenServices({
  config,
  services,
}: Pick<StartServicesDeps, 'config' | 'services'>): readonly LocalService[] {
  return services.filter(({ name }) => config.services?.includes(name) ?? true);
}

/** Returns the edge's URL. @throws SetupError */
export async function startServices(deps: StartServicesDeps, facts: StackFacts): Promise<string> {
  const { config, env, processes, progress } = deps;
  const chosen = chosenServices(deps).filter(
    ({ needsDocker }) => !(needsDocker && facts.noComputers !== undefined),
  );
  const hasEntry = chosen.some(({ role }) => role === 'entry');
  if (hasEntry) await checkAddress(config);
  await progress.step(
    'services',
    async (doing) => {
      const started = chosen.flatMap((service) =>
        instancesOf(service, config.scale).map((instance) =>
          processes.run(service.role, serviceProcess(service, instance, env, facts)),
        ),
      );
      await allReady(started, doing, config.dataFolder);
      if (hasEntry) await untilReady(urlOf(config), processes.stopping);
    },
    () => chosen.map(({ name }) => name).join(', '),
  );
  return urlOf(config);
}

/** @throws SetupError when the edge could not listen at its address */
async function checkAddress({ host, port }: LauncherConfig): Promise<void> {
  const error = await listenError(host, port);
  if (error === undefined) return;
  if (error.code === 'EADDRINUSE')
    throw new SetupError(
      `Port ${port} at ${host} is taken by another program.`,
      'Stop that program, or choose another port: PORT=8081 npm start.',
    );
  throw new SetupError(
    `The edge cannot listen on port ${port} at ${host}: ${error.message}.`,
    'Set HOST to an address of this machine, and PORT to a port that this user may use.',
    { cause: error },
  );
}

function serviceProcess(
  service: LocalService,
  instance: string,
  machine: NodeJS.ProcessEnv,
  facts: StackFacts,
): ProcessSpec {
  return {
    name: instance,
    command: process.execPath,
    args: [service.entry],
    cwd: ROOT,
    env: serviceEnvironment(service, instance, machine, facts),
    ready: 'message',
    stopTimeoutMs: SERVICE_STOP_TIMEOUT_MS,
  };
}

/** @throws SetupError for a misspelt name in the settings */
export function checkNames({ config, services }: Pick<StartServicesDeps, 'config' | 'services'>): void {
  const known = services.map(({ name }) => name);
  const named = { SWITCHYARD_SERVICES: config.services ?? [], SWITCHYARD_SCALE: Object.keys(config.scale) };
  for (const [variable, names] of Object.entries(named)) {
    const unknown = names.filter((name) => !known.includes(name));
    if (unknown.length === 0) continue;
    throw new SetupError(
      `${variable} names unknown services: ${unknown.join(', ')}.`,
      `Use these names: ${known.join(', ')}.`,
    );
  }
}

/** `control`, `control-2`, … @throws SetupError for a second instance of the entry */
export function instancesOf({ name, role }: LocalService, scale: Readonly<Record<string, number>>): string[] {
  const count = scale[name] ?? 1;
  if (role === 'entry' && count > 1) {
    throw new SetupError(
      `SWITCHYARD_SCALE asks for ${count} instances of ${name}; it can have only one, because it listens on one port.`,
      `Remove ${name} from SWITCHYARD_SCALE.`,
    );
  }
  return Array.from({ length: count }, (_, index) => (index === 0 ? name : `${name}-${index + 1}`));
}

async function allReady(
  started: readonly Supervised[],
  doing: (text: string) => void,
  folder: string,
): Promise<void> {
  const waiting = new Set(started.map(({ name }) => name));
  const tell = () => doing(`waiting for ${[...waiting].join(', ')}`);
  tell();
  const all = started.map(async (one) => {
    await one.ready;
    waiting.delete(one.name);
    tell();
  });
  const late = delay(READY_TIMEOUT_MS, 'late' as const, { ref: false });
  if ((await Promise.race([Promise.all(all), late])) !== 'late') return;
  throw new SetupError(
    `Services not ready after ${READY_TIMEOUT_MS / 1000} s: ${[...waiting].join(', ')}.`,
    `Read their logs in ${join(folder, 'logs')}.`,
  );
}

/** Resolves when `GET /readyz` answers 200. */
async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  let last = 'no answer';
  while (performance.now() < deadline) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]);
      const { status } = await fetch(new URL('/readyz', reachable(url)), { signal: limit });
      if (status === 200) return;
      last = `status ${status}`;
    } catch (error) {
      signal.throwIfAborted();
      last = (error as Error).message;
    }
    await delay(HEALTH_POLL_EVERY_MS, undefined, { signal });
  }
  throw new SetupError(
    `The edge is not ready: GET ${url}/readyz failed: ${last}.`,
    'Read <data>/logs/edge.log.',
  );
}

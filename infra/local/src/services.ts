/** The services of the local stack: one row each. The supervisor takes the table as an argument. */

export interface LocalService {
  readonly name: string;
  /** Its program, from the top of the repository. */
  readonly entry: string;
  /** `entry`: HTTP comes in here. It listens on HOST and PORT, has one instance, and stops before the others. */
  readonly role: 'entry' | 'worker';
  /** What it gets beyond the common environment (see service-environment.ts). */
  readonly gets: readonly Grant[];
  /** Not started where there is no Docker engine. */
  readonly needsDocker?: true;
  /** Serves the console, which is built first (console-build.ts). */
  readonly servesConsole?: true;
  /** Runs the programs of the local models (local-programs.ts). */
  readonly usesLocalPrograms?: true;
}

/**
 * What only some get: the key of the installation, the secret that encrypts makers' API keys set through the API, the
 * secret that signs URLs of videos, API keys of Ollama and vLLM, the database, the Docker engine, and the makers' API
 * keys of the environment (a catalog may name any variable, so that one is the whole environment of the launcher).
 */
export type Grant =
  | 'key'
  | 'providers secret'
  | 'url secret'
  | 'model servers'
  | 'database'
  | 'docker'
  | 'whole environment';

export const SERVICES: readonly LocalService[] = [
  {
    name: 'edge',
    entry: 'services/edge/src/main.ts',
    role: 'entry',
    gets: ['url secret'],
    servesConsole: true,
  },
  {
    name: 'control',
    entry: 'services/control/src/main.ts',
    role: 'worker',
    gets: ['key', 'providers secret'],
  },
  {
    name: 'model-router',
    entry: 'services/model-router/src/main.ts',
    role: 'worker',
    gets: ['whole environment', 'providers secret', 'model servers'],
    usesLocalPrograms: true,
  },
  {
    name: 'video-worker',
    entry: 'services/video-worker/src/main.ts',
    role: 'worker',
    gets: ['whole environment', 'providers secret'],
    usesLocalPrograms: true,
  },
  {
    name: 'billing',
    entry: 'services/billing/src/main.ts',
    role: 'worker',
    gets: ['database'],
  },
  {
    name: 'computer-agent',
    entry: 'services/computer-agent/src/main.ts',
    role: 'worker',
    gets: ['docker'],
    needsDocker: true,
  },
];

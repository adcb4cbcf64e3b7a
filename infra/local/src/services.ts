/** The services of the local stack: one row each. The supervisor takes the table as an argument. */

export interface LocalService {
  readonly name: string;
  /** Its program, from the top of the repository. */
  readonly entry: string;
  /** `entry`: HTTP comes in here. It listens on HOST and PORT, has one instance, and stops before the others. */
  readonly role: 'entry' | 'worker';
  /** It serves, and computes for nobody: it goes before what computes (precedence.ts). */
  readonly goesFirst?: true;
  /** What it does nobody else can do while it is away: a second process stands by (standby.ts). */
  readonly hasStandby?: true;
  /** What it gets beyond the common environment (see service-environment.ts). */
  readonly gets: readonly Grant[];
  /** What Node is started with beyond the program. */
  readonly flags?: readonly string[];
  /** Variables of its own. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Not started where there is no Docker engine. */
  readonly needsDocker?: true;
}

/**
 * What only some may know: the key of the installation, the database, the Docker engine, and the makers' API keys
 * (a catalog may name any variable, so that one is the whole environment of the launcher).
 */
export type Grant = 'key' | 'database' | 'docker' | 'whole environment';

/**
 * What passes through an agent is garbage the next moment, and V8 would let up to 96 MiB of it pile up before it looks: here 4
 * MiB. Of what has outlived that, and of buffers outside of its heap, whose room stays free within glibc's pools, it would let
 * as much again pile up: all of it is collected at 15 % over what was alive the last time. The same in infra/services/Dockerfile.
 */
export const COMPUTER_AGENT_FLAGS: readonly string[] = [
  '--max-semi-space-size=4',
  '--heap-growing-percent=15',
  '--external-memory-accounted-in-global-limit',
];

/**
 * glibc takes every large block that is given back as a reason to keep larger ones the next time, up to 32 MiB, and holes
 * among them stay. A threshold that is set does not move: blocks of 128 KiB go back to the kernel at once, as they do at
 * first anyway, and so does what is free beyond 1 MiB; two pools serve all threads. The same in infra/services/Dockerfile.
 */
export const COMPUTER_AGENT_VARIABLES: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

export const SERVICES: readonly LocalService[] = [
  { name: 'edge', entry: 'services/edge/src/main.ts', role: 'entry', goesFirst: true, gets: ['key'] },
  { name: 'control', entry: 'services/control/src/main.ts', role: 'worker', goesFirst: true, gets: ['key'] },
  {
    name: 'model-router',
    entry: 'services/model-router/src/main.ts',
    role: 'worker',
    goesFirst: true,
    gets: ['whole environment'],
  },
  {
    name: 'video-worker',
    entry: 'services/video-worker/src/main.ts',
    role: 'worker',
    gets: ['whole environment'],
  },
  {
    name: 'billing',
    entry: 'services/billing/src/main.ts',
    role: 'worker',
    goesFirst: true,
    gets: ['database'],
  },
  {
    name: 'computer-agent',
    entry: 'services/computer-agent/src/main.ts',
    role: 'worker',
    goesFirst: true,
    hasStandby: true,
    gets: ['docker'],
    flags: COMPUTER_AGENT_FLAGS,
    variables: COMPUTER_AGENT_VARIABLES,
    needsDocker: true,
  },
];

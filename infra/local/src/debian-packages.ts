/** Installs Debian packages where that can be done: Debian or a child of it, and root. One installation at a time. */
import { findProgram, runCommand } from './run-command.ts';

export interface DebianPackages {
  /** Whether `install` can be tried at all. */
  readonly possible: boolean;
  install(names: readonly string[]): Promise<void>;
}

const INSTALL_TIMEOUT_MS = 10 * 60_000;
/** Another apt may be at work, for example the machine's own at boot. */
const LOCK_TIMEOUT_S = 120;

export function createDebianPackages(env: NodeJS.ProcessEnv): DebianPackages {
  const possible = process.getuid?.() === 0 && findProgram('apt-get', env.PATH) !== undefined;
  const options = {
    timeoutMs: INSTALL_TIMEOUT_MS,
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
  };
  const lock = ['-o', `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`];
  let queue: Promise<unknown> = Promise.resolve();

  async function install(names: readonly string[]): Promise<void> {
    await runCommand('apt-get', ['update', '-q', ...lock], options);
    await runCommand(
      'apt-get',
      ['install', '-q', '-y', '--no-install-recommends', ...lock, ...names],
      options,
    );
  }

  return {
    possible,
    install(names) {
      // Two steps may need packages at the same time, and apt serves one at a time.
      const turn = queue.then(() => install(names));
      queue = turn.catch(() => {});
      return turn;
    },
  };
}

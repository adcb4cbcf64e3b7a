/** Installs Debian packages: on Debian or a derivative, as root, one installation at a time. */
import { findProgram, runCommand } from './run-command.ts';

export interface DebianPackages {
  /** Whether this process may install packages. */
  readonly possible: boolean;
  install(names: readonly string[]): Promise<void>;
}

const INSTALL_TIMEOUT_MS = 10 * 60_000;
/** Another apt may hold the lock, for example the machine's own at boot. */
const LOCK_TIMEOUT_S = 120;

export function createDebianPackages(env: NodeJS.ProcessEnv): DebianPackages {
  const possible = process.getuid?.() === 0 && findProgram('apt-get', env.PATH) !== undefined;
  const options = {
    timeoutMs: INSTALL_TIMEOUT_MS,
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
  };
  const lock = ['-o', `DPkg::Lock::Timeout=${LOCK_TIMEOUT_S}`];
  let queue: Promise<unknown> = Promise.resolve();
  let isListUpdated = false;

  async function install(names: readonly string[]): Promise<void> {
    if (!isListUpdated) await runCommand('apt-get', ['update', '-q', ...lock], options);
    isListUpdated = true;
    await runCommand(
      'apt-get',
      ['install', '-q', '-y', '--no-install-recommends', ...lock, ...names],
      options,
    );
  }

  return {
    possible,
    install(names) {
      // Several steps may install at the same time, and apt allows one.
      const turn = queue.then(() => install(names));
      queue = turn.catch(() => {});
      return turn;
    },
  };
}

/** Ends child processes when the test run is killed. Works on Linux only; elsewhere it changes nothing. */
import { findProgram } from '@switchyard/local';

/** Wraps the command line so that the process gets `signal` when this process ends for any reason. */
export function killedWithParent(
  signal: 'SIGTERM' | 'SIGKILL',
  command: string,
  args: readonly string[],
): [string, ...string[]] {
  const setpriv = findProgram('setpriv', process.env.PATH);
  return setpriv === undefined ? [command, ...args] : [setpriv, '--pdeathsig', signal, command, ...args];
}

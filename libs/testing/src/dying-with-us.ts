/** So that a test run that is killed leaves no process behind. Linux alone can do it; elsewhere nothing is changed. */
import { findProgram } from '@switchyard/local';

/** The command line, such that the process gets `signal` when this one ends in whatever way. */
export function dyingWithUs(
  signal: 'SIGTERM' | 'SIGKILL',
  command: string,
  args: readonly string[],
): [string, ...string[]] {
  const setpriv = findProgram('setpriv', process.env.PATH);
  return setpriv === undefined ? [command, ...args] : [setpriv, '--pdeathsig', signal, command, ...args];
}

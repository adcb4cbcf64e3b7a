/**
 * A second process of a service that reads its program and waits until the one that serves dies: most of what a start
 * takes is done by then. For a service whose work nobody else can do meanwhile.
 *
 * It finds SWITCHYARD_STAND_BY in its environment, and begins to serve when it is told `{ type: 'serve' }`. When this
 * process ends, so does it.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface Standby {
  /** Begins one in a moment, and another one where it ends by itself, until `over` is aborted. */
  prepare(over: AbortSignal): void;
  /** The one that stands by, told to serve: it is the caller's from now on. Undefined where there is none. */
  take(): ChildProcess | undefined;
  /** Ends it for good; resolves when it is gone. */
  stop(): Promise<void>;
}

/** It computes for half a second: first those are served who waited for the one that serves now. */
const PAUSE_MS = 2_000;
/** In a row; a program that cannot wait does not end again and again. */
const ATTEMPTS_MAX = 3;
/** One that waited for so long could wait: its end is the first again. */
const COULD_WAIT_MS = 10_000;

/**
 * @param begin starts a process with these variables in its environment
 * @param note told when it is given up
 */
export function createStandby(
  begin: (variables: NodeJS.ProcessEnv) => ChildProcess,
  note: (text: string) => void,
): Standby {
  let waiting: ChildProcess | undefined;
  let stopped = false;

  async function keep(over: AbortSignal): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      await delay(PAUSE_MS, undefined, { signal: over, ref: false }).catch(() => {});
      if (over.aborted || stopped) return;
      const begunAt = performance.now();
      const one = begin({ SWITCHYARD_STAND_BY: '1' });
      waiting = one;
      await once(one, 'exit', { signal: over }).catch(() => {}); // or it could not be started, or is needed
      if (over.aborted || stopped) return;
      waiting = undefined;
      if (performance.now() - begunAt > COULD_WAIT_MS) attempt = 0;
    }
    note(`nobody stands by for it: those who should, ended, ${ATTEMPTS_MAX} times in a row`);
  }

  return {
    prepare(over) {
      // Without room for one more process, say: what serves is not concerned.
      keep(over).catch((error: Error) => note(`nobody stands by for it: ${error.message}`));
    },
    take() {
      const one = waiting;
      waiting = undefined;
      if (!one?.connected) return undefined;
      one.send({ type: 'serve' }); // heard as soon as it listens, however far it is
      return one;
    },
    async stop() {
      stopped = true;
      if (waiting?.pid === undefined || waiting.exitCode !== null || waiting.signalCode !== null) return;
      const gone = once(waiting, 'exit');
      waiting.kill('SIGKILL');
      await gone;
    },
  };
}

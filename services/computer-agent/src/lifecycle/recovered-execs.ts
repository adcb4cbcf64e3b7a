// Commands that were on when the agent died. Their results wait in the computer's init: a caller who repeats its call
// with the same request id gets the result as if nothing had been; a command that nobody asks for again is stopped, as
// it is when a caller goes away, unless it is to continue then.
import type { Clock } from '@switchyard/service';
import type { ExecResult, KnownExec } from '../computer/exec.ts';
import type { LiveRun } from './live-run.ts';

/** How long a result waits to be asked for: a few times as long as an agent takes to start again. */
const CLAIM_MS_MAX = 30_000;

interface Recovered {
  readonly result: Promise<ExecResult>;
  readonly stop: AbortController;
  readonly cancelForget: () => void;
}

export class RecoveredExecs {
  readonly #execs = new Map<string, Recovered>();

  /** Attaches to those of the commands that a computer knows of when it is taken over; `activity` is told when one ends. */
  static attach(
    known: readonly KnownExec[],
    live: LiveRun,
    clock: Clock,
    activity: () => void,
  ): RecoveredExecs {
    const recovered = new RecoveredExecs();
    for (const { id, running, kept } of known)
      if (running || !kept) recovered.#attach(id, kept, live, clock, activity);
    return recovered;
  }

  /** The result of a command that is known from before; undefined: it is not. Can be had once. `signal` stops it. */
  claim(execId: string, signal: AbortSignal | undefined): Promise<ExecResult> | undefined {
    const exec = this.#execs.get(execId);
    if (!exec) return undefined;
    this.#execs.delete(execId);
    exec.cancelForget();
    if (signal?.aborted) exec.stop.abort();
    else signal?.addEventListener('abort', () => exec.stop.abort(), { once: true });
    return exec.result;
  }

  close(): void {
    for (const exec of this.#execs.values()) exec.cancelForget();
    this.#execs.clear();
  }

  #attach(id: string, kept: boolean, live: LiveRun, clock: Clock, activity: () => void): void {
    const stop = new AbortController();
    const ended = live.beginCommand();
    const result = live.computer.attach(id, { signal: stop.signal }).finally(() => {
      ended();
      activity();
    });
    result.catch(() => {}); // whoever claims it hears of it
    const cancelForget = clock.after(CLAIM_MS_MAX, () => {
      this.#execs.delete(id);
      if (!kept) stop.abort();
    });
    this.#execs.set(id, { result, stop, cancelForget });
  }
}

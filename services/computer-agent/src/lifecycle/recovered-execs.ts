// Commands that were running when the agent died. The computer's init keeps their results: a caller who repeats its
// request with the same id gets the result. A command that is not requested again is stopped, as when its caller
// disconnects, unless it is to continue.
import type { Clock } from '@switchyard/service';
import type { ExecResult, KnownExec } from '../computer/exec.ts';
import type { Run } from './run.ts';

/** How long a result waits for a repeated request: several times the restart time of an agent. */
const CLAIM_MS_MAX = 30_000;

interface Recovered {
  readonly result: Promise<ExecResult>;
  readonly stop: AbortController;
  readonly cancelForget: () => void;
}

export class RecoveredExecs {
  readonly #execs = new Map<string, Recovered>();

  /** Attaches to the commands of a computer that is taken over; calls `activity` when one ends. */
  static attach(known: readonly KnownExec[], run: Run, clock: Clock, activity: () => void): RecoveredExecs {
    const recovered = new RecoveredExecs();
    for (const { id, running, kept } of known)
      if (running || !kept) recovered.#attach(id, kept, run, clock, activity);
    return recovered;
  }

  /** The result of a recovered command, once; undefined if the id is unknown. `signal` stops the command. */
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

  #attach(id: string, kept: boolean, run: Run, clock: Clock, activity: () => void): void {
    const stop = new AbortController();
    const ended = run.beginCommand();
    const result = run.container.init.attach(id, { signal: stop.signal }).finally(() => {
      ended();
      activity();
    });
    result.catch(() => {}); // `claim` passes the error on
    const cancelForget = clock.after(CLAIM_MS_MAX, () => {
      this.#execs.delete(id);
      if (!kept) stop.abort();
    });
    this.#execs.set(id, { result, stop, cancelForget });
  }
}

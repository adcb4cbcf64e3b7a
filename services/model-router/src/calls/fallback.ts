// Selects the next upstream: each candidate in turn, skipping those whose circuit is open, and waiting for those that
// sent `Retry-After`.
import { ServiceError } from '@switchyard/contracts';
import { sleep } from '@switchyard/service';
import type { Failure } from '../makers/failure.ts';
import { ATTEMPT_WORTH_MS, Attempt } from './attempt.ts';
import type { AttemptContext } from './call-context.ts';
import type { Candidate } from './call-record.ts';
import { isSkip, type Pass, RETRY_AFTER_MS_MAX, type Skip } from './circuits.ts';
import { rateLimited, toServiceError } from './failed-call.ts';
import type { ModelRequest } from './model-request.ts';

/** Maximum attempts of one call, including those of later rounds. */
const ATTEMPTS_MAX = 20;
/** How often one call waits for upstreams that sent `Retry-After`. */
const WAITS_MAX = 2;

export class Fallback {
  readonly #request: ModelRequest;
  readonly #context: AttemptContext;
  readonly #failures: Failure[] = [];
  #attempts = 0;
  #current: Attempt | null = null;

  constructor(request: ModelRequest, context: AttemptContext) {
    this.#request = request;
    this.#context = context;
  }

  /** The last attempt that was started. */
  get current(): Attempt | null {
    return this.#current;
  }

  /**
   * Tries each candidate in turn. If all fail, waits for the first one to end its rest and tries it, up to `WAITS_MAX`
   * times. Returns when the call has ended.
   * @throws ServiceError when no upstream answered, or no memory was free
   */
  async answerFrom(candidates: Candidate[]): Promise<void> {
    let round = candidates;
    for (let waits = 0; ; waits += 1) {
      if (await this.#askEach(round)) return;
      const busy = this.#soonest(candidates);
      if (busy === null || waits >= WAITS_MAX || !this.#mayAsk()) break;
      await this.#wait(busy.backInMs);
      round = [busy.candidate];
    }
    if (!this.#context.call.isCancelled) throw this.#errorOf(candidates);
  }

  /** True when the call has ended. */
  async #askEach(candidates: Candidate[]): Promise<boolean> {
    const { circuits, record } = this.#context;
    const before = this.#attempts;
    const skipped: { candidate: Candidate; skip: Skip }[] = [];
    for (const candidate of candidates) {
      if (!this.#mayAsk()) return false;
      const entry = circuits.enter(candidate.upstream);
      if (isSkip(entry)) {
        skipped.push({ candidate, skip: entry });
        record.skipped(candidate, entry);
      } else if (await this.#ask(candidate, entry)) return true;
    }
    if (this.#attempts > before) return false;
    // No upstream was called: force the one that is available soonest. `answerFrom` waits for resting ones.
    const open = skipped.filter(({ skip }) => skip.state !== 'resting');
    const [first] = open.toSorted((a, b) => a.skip.backInMs - b.skip.backInMs);
    if (!first || !this.#mayAsk()) return false;
    return this.#ask(first.candidate, circuits.force(first.candidate.upstream));
  }

  /** True when the call has ended; false when another attempt may follow. */
  async #ask(candidate: Candidate, pass: Pass): Promise<boolean> {
    const outputTokensMax = await this.#reserve(candidate, pass);
    if (this.#context.call.isCancelled) {
      pass.abandoned();
      return true;
    }
    this.#attempts += 1;
    this.#current = new Attempt(candidate, this.#request, this.#context);
    const failure = await this.#current.run(pass, outputTokensMax);
    if (failure !== null) this.#failures.push(failure);
    return failure === null;
  }

  async #reserve({ model }: Candidate, pass: Pass): Promise<number | undefined> {
    const { budget, call } = this.#context;
    try {
      return await budget?.reserve(this.#request.expected(model), call.signal);
    } catch (error) {
      pass.abandoned();
      throw error;
    }
  }

  #mayAsk(): boolean {
    const { call, record } = this.#context;
    return (
      !call.isCancelled &&
      this.#failures.at(-1)?.kind !== 'rejected' &&
      this.#attempts < ATTEMPTS_MAX &&
      record.remainingMs() >= ATTEMPT_WORTH_MS
    );
  }

  /** The first upstream to end its rest, if the wait is within the limits. */
  #soonest(candidates: Candidate[]): { candidate: Candidate; backInMs: number } | null {
    const { circuits, record } = this.#context;
    const patienceMs = Math.min(RETRY_AFTER_MS_MAX, record.remainingMs() - ATTEMPT_WORTH_MS);
    return (
      candidates
        .map((candidate) => ({
          candidate,
          backInMs: circuits.retryAfterLeftMs(candidate.upstream) ?? Number.POSITIVE_INFINITY,
        }))
        .filter(({ backInMs }) => backInMs <= patienceMs)
        .toSorted((a, b) => a.backInMs - b.backInMs)[0] ?? null
    );
  }

  /** Resolves after the time, or when the caller leaves. */
  async #wait(ms: number): Promise<void> {
    const { call, clock } = this.#context;
    const until = clock.monotonic() + ms;
    // A timer may fire early by one turn of the event loop.
    while (!call.isCancelled && clock.monotonic() < until)
      await sleep(Math.ceil(until - clock.monotonic()), clock, call.signal);
  }

  #errorOf(candidates: Candidate[]): ServiceError {
    const { record, circuits, callTimeoutMs } = this.#context;
    const details = { attempts: record.attempts };
    const last = this.#failures.at(-1);
    if (last?.kind !== 'rejected' && record.remainingMs() < ATTEMPT_WORTH_MS) {
      const message = `No upstream answered within ${callTimeoutMs / 1000} s. Try again, or add models to fall back on.`;
      return new ServiceError('upstream_timeout', message, { details });
    }
    if (last) return toServiceError(this.#failures, details);
    const waitsMs = candidates.map(({ upstream }) => circuits.retryAfterLeftMs(upstream) ?? 0);
    return rateLimited(Math.min(...waitsMs) / 1000, details);
  }
}

// One request under limits: what it takes, what its answer says about them, and what it gives back.
import { type RateLimitKind, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Bound } from './key-limits.ts';
import { limitHeaders, toSeconds, type WindowKind, type WindowState } from './limit-headers.ts';
import type { Share, SharedUse } from './shared-use.ts';

export type ConcurrentKind = 'concurrent_calls' | 'concurrent_commands';

interface OwnedShare extends Share {
  readonly kind: RateLimitKind;
  readonly of: Bound['of'];
}

const WINDOW_KINDS: Readonly<Partial<Record<RateLimitKind, WindowKind>>> = {
  requests_per_minute: 'requests',
  tokens_per_minute: 'tokens',
};
/** Seconds. The end of the caller's calls and commands is unknown. */
const CONCURRENT_RETRY_AFTER_S = 1;

export interface AdmissionDeps {
  readonly use: SharedUse;
  readonly clock: Clock;
}

export class Admission {
  readonly #deps: AdmissionDeps;
  readonly #bounds: readonly Bound[];
  #request: readonly OwnedShare[] = [];
  #tokens: readonly OwnedShare[];
  #tokensTakenAt = 0;
  #ended = false;

  constructor(deps: AdmissionDeps, bounds: readonly Bound[]) {
    this.#deps = deps;
    this.#bounds = bounds;
    this.#tokens = this.#shares('tokens_per_minute', 0);
  }

  /** @throws ServiceError `rate_limited`, and then nothing was taken */
  async takeRequest(concurrent: ConcurrentKind | null): Promise<void> {
    const shares = [
      ...this.#shares('requests_per_minute', 1),
      ...(concurrent === null ? [] : this.#shares(concurrent, 1)),
    ];
    await this.#take(shares);
    if (this.#ended)
      this.#deps.use.release(shares); // the client left meanwhile
    else this.#request = shares;
  }

  /**
   * Whether a limit counts the tokens of the request.
   */
  get countsTokens(): boolean {
    return this.#tokens.length > 0;
  }

  /**
   * Takes the tokens that a call may use. An estimate above the whole limit takes all of it.
   * @throws ServiceError `rate_limited`, and then no tokens were taken
   */
  async takeTokens(estimate: number): Promise<void> {
    const shares = this.#tokens.map((share) => ({ ...share, amount: Math.min(estimate, share.limit) }));
    await this.#take(shares);
    this.#tokens = shares;
    this.#tokensTakenAt = this.#deps.clock.monotonic();
  }

  /** Replaces the estimate with the tokens that the call used. Counts once. */
  used(tokens: number): void {
    const ageMs = this.#deps.clock.monotonic() - this.#tokensTakenAt;
    this.#deps.use.correct(this.#tokens, tokens, ageMs);
    this.#tokens = [];
  }

  /** The request is over: releases what counts only while it is open. */
  end(): void {
    this.#ended = true;
    this.#deps.use.release(this.#request);
    this.#request = [];
  }

  headers(): Record<string, string> {
    const states: WindowState[] = [];
    for (const share of [
      ...this.#shares('requests_per_minute', 1),
      ...this.#shares('tokens_per_minute', 1),
    ]) {
      const kind = WINDOW_KINDS[share.kind];
      if (kind) states.push({ kind, limit: share.limit, ...this.#deps.use.leftOf(share) });
    }
    return limitHeaders(states);
  }

  async #take(shares: readonly OwnedShare[]): Promise<void> {
    if (shares.length === 0) return;
    const exceeded = await this.#deps.use.take(shares);
    if (exceeded) throw this.#refusal(exceeded as OwnedShare);
  }

  #shares(kind: RateLimitKind, amount: number): OwnedShare[] {
    return this.#bounds.flatMap(({ id, of, limits }) => {
      const limit = limits[kind];
      const unit = kind in WINDOW_KINDS ? 'window' : 'gauge';
      return limit === null ? [] : [{ name: `${kind}/${id}`, unit, amount, limit, kind, of }];
    });
  }

  #refusal(share: OwnedShare): ServiceError {
    const { kind, of, unit, limit } = share;
    const retryAfterS =
      unit === 'gauge'
        ? CONCURRENT_RETRY_AFTER_S
        : Math.max(1, toSeconds(this.#deps.use.leftOf(share).roomMs));
    const what = kind.replaceAll('_', ' ');
    return new ServiceError(
      'rate_limited',
      `The ${of} is at its limit of ${limit} ${what}. Retry after ${retryAfterS} s.`,
      { retryAfterS, details: { limit: kind, of, max: limit } },
    );
  }
}

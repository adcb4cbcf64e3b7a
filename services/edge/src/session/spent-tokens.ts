// Sessions that were signed out and sign-in links that were used, known to every edge. Their number is bounded for each
// org: otherwise one org could fill the bucket, and no user of another org could sign out.
import { type Bucket, type Mirror, RevisionConflict } from '@switchyard/bus';
import { SESSION_HOURS, ServiceError, type SpentToken } from '@switchyard/contracts';

/** Within `SESSION_HOURS`, after which the bucket forgets a token. */
export const SPENT_TOKENS_PER_ORG_MAX = 2_000;
const KEPT_MS = SESSION_HOURS * 3_600_000;

interface SpentTokensDeps {
  readonly bucket: Bucket<SpentToken>;
  readonly mirror: Mirror<SpentToken>;
  readonly now: () => number;
}

export class SpentTokens {
  readonly #deps: SpentTokensDeps;
  /** Org -> when its tokens were spent, the oldest first. */
  readonly #spentAt = new Map<string, number[]>();

  constructor(deps: SpentTokensDeps) {
    this.#deps = deps;
    for (const { value } of deps.mirror.entries()) this.#count(value);
    deps.mirror.onChange((_id, token) => token && this.#count(token));
  }

  has(id: string): boolean {
    return this.#deps.mirror.peek(id) !== null;
  }

  /**
   * Returns false if the token was spent before.
   * @throws ServiceError `rate_limited`; `service_unavailable`
   */
  async spend(id: string, org: string): Promise<boolean> {
    const { bucket, now } = this.#deps;
    const kept = this.#keptOf(org);
    if (kept.length >= SPENT_TOKENS_PER_ORG_MAX)
      throw new ServiceError(
        'rate_limited',
        `The org has ended ${SPENT_TOKENS_PER_ORG_MAX} sessions and sign-in links in ${SESSION_HOURS} hours. Retry later.`,
        {
          retryAfterS: Math.ceil(((kept[0] ?? 0) + KEPT_MS - now()) / 1_000),
          details: { limit: 'ended_sessions', of: 'org', max: SPENT_TOKENS_PER_ORG_MAX },
        },
      );
    try {
      await bucket.create(id, { at: new Date(now()).toISOString(), org });
      return true;
    } catch (error) {
      if (error instanceof RevisionConflict) return false;
      throw error;
    }
  }

  #count({ at, org }: SpentToken): void {
    const kept = this.#keptOf(org);
    kept.push(Date.parse(at));
    this.#spentAt.set(org, kept);
  }

  #keptOf(org: string): number[] {
    const since = this.#deps.now() - KEPT_MS;
    return (this.#spentAt.get(org) ?? []).filter((at) => at > since);
  }
}

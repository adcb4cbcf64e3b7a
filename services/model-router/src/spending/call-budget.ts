// Keeps one call within its budget: holds the maximum cost of an attempt before the attempt, and holds more for a long
// stream before more of it is passed on.
import { type CatalogModel, ServiceError } from '@switchyard/contracts';
import type { CallHold } from '@switchyard/spending';
import { type Expected, STREAMED_TOKENS_HELD } from './expected-cost.ts';
import { priceTokens } from './pricing.ts';

export class CallBudget {
  readonly #hold: CallHold;
  /** The maker has received an output limit. */
  #outputLimited = false;
  #toppingUp: Promise<void> | null = null;
  #exceeded: ServiceError | null = null;

  constructor(hold: CallHold) {
    this.#hold = hold;
  }

  /** Why no more can be held. The stream ends there, and the output so far is charged. */
  get exceeded(): ServiceError | null {
    return this.#exceeded;
  }

  /**
   * Holds the maximum cost of an attempt; a more expensive fallback holds more.
   * @returns the output tokens that the rest of the budget covers, if it is not enough for the whole answer
   * @throws ServiceError `insufficient_funds`, `budget_exceeded`; `service_unavailable` when billing is unreachable
   */
  async reserve(
    { cost, exact, outputTokensWithin }: Expected,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    await this.#hold.take(cost, exact, signal);
    const { granted, capped } = this.#hold;
    const tokens = capped && granted !== null ? outputTokensWithin?.(granted) : undefined;
    this.#outputLimited = tokens !== undefined;
    return tokens;
  }

  /**
   * Whether a stream may continue at once; if not, `room` resolves when it may.
   * @param produced the cost of the output so far; called only when a limit applies
   */
  covers(model: CatalogModel, produced: () => bigint, signal: AbortSignal): boolean {
    if (this.#toppingUp) return false;
    const { granted } = this.#hold;
    if (granted === null || this.#outputLimited) return true;
    const cost = produced();
    if (cost <= granted) return true;
    this.#toppingUp = this.#topUp(model, cost, signal).finally(() => {
      this.#toppingUp = null;
    });
    return false;
  }

  /** Resolves when the stream may continue or has exceeded the budget. */
  async room(): Promise<void> {
    await this.#toppingUp;
  }

  settle(cost: bigint): void {
    this.#hold.settle(cost);
  }

  async #topUp(model: CatalogModel, produced: bigint, signal: AbortSignal): Promise<void> {
    const more = { inputTokens: 0, cachedInputTokens: 0, outputTokens: STREAMED_TOKENS_HELD };
    try {
      await this.#hold.take(produced + priceTokens(model, more).costNano, false, signal);
    } catch (error) {
      this.#exceeded = error instanceof ServiceError ? error : endOfBudget(error);
      return;
    }
    // The remaining budget may not even cover the output so far.
    const { granted, capped } = this.#hold;
    if (capped && granted !== null && granted <= produced) this.#exceeded = endOfBudget();
  }
}

function endOfBudget(cause?: unknown): ServiceError {
  return new ServiceError(
    'budget_exceeded',
    'The budget is used up, so the answer ends here. Raise the budget to get more.',
    { cause },
  );
}

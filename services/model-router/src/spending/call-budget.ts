// One call within its budget: holds what an attempt may cost before it is made, and more for a stream that goes on
// longer than was expected, before any more of it is passed on.
import { type CatalogModel, ServiceError } from '@switchyard/contracts';
import type { CallHold } from '@switchyard/spending';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import { priceTokens } from '../calls/pricing.ts';
import { type Expected, OUTPUT_TOKENS_EXPECTED } from './expected-cost.ts';

export class CallBudget {
  readonly #hold: CallHold;
  /** The maker was told how long its answer may be. */
  #told = false;
  #toppingUp: Promise<void> | null = null;
  #exceeded: ServiceError | null = null;

  constructor(hold: CallHold) {
    this.#hold = hold;
  }

  /** Why no more may be held: a stream ends there, and what was produced until then is charged. */
  get exceeded(): ServiceError | null {
    return this.#exceeded;
  }

  /**
   * Holds what an attempt may cost; a fallback that is dearer holds more.
   * @returns the tokens that its answer may have, where it is alone with what is left of a budget
   * @throws ServiceError `insufficient_funds`, `budget_exceeded`; `service_unavailable` when billing is away
   */
  async reserve(
    { cost, exact, outputTokensWithin }: Expected,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    await this.#hold.take(cost, exact, signal);
    const { granted, capped } = this.#hold;
    const tokens = capped && granted !== null ? outputTokensWithin?.(granted) : undefined;
    this.#told = tokens !== undefined;
    return tokens;
  }

  /**
   * Whether a stream may go on at once; if not, `room` tells when.
   * @throws `exceeded`
   */
  covers(model: CatalogModel, streamed: StreamedAnswer, signal: AbortSignal): boolean {
    if (this.#exceeded) throw this.#exceeded;
    if (this.#toppingUp) return false;
    const { granted } = this.#hold;
    if (granted === null || this.#told) return true;
    const produced = streamed.produced().price.costNano;
    if (produced <= granted) return true;
    this.#toppingUp = this.#topUp(model, produced, signal).finally(() => {
      this.#toppingUp = null;
    });
    return false;
  }

  /** Resolves when the stream may go on, or has exceeded the budget. */
  async room(): Promise<void> {
    await this.#toppingUp;
  }

  settle(cost: bigint): void {
    this.#hold.settle(cost);
  }

  async #topUp(model: CatalogModel, produced: bigint, signal: AbortSignal): Promise<void> {
    const more = { inputTokens: 0, cachedInputTokens: 0, outputTokens: OUTPUT_TOKENS_EXPECTED };
    try {
      await this.#hold.take(produced + priceTokens(model, more).costNano, false, signal);
    } catch (error) {
      this.#exceeded = error instanceof ServiceError ? error : endOfBudget(error);
      return;
    }
    // What is left may not even cover what was said already.
    const { granted, capped } = this.#hold;
    if (capped && granted !== null && granted <= produced) this.#exceeded = endOfBudget();
  }
}

function endOfBudget(cause?: unknown): ServiceError {
  return new ServiceError('budget_exceeded', 'the answer was ended where the budget did', { cause });
}

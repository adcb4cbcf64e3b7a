// Who answers goes before who computes: a computer that used much processor time lately has less weight against others
// until it rests, so that a short command of a neighbour need not wait for it.
//
// Each computer has a credit of processor time. It gains what the smallest computer is guaranteed and loses what it
// uses; with none left it is *heavy*, until it has hardly used any for a while: for as long as it computed, within bounds,
// so that one who computes again and again does not go before all others each time it begins. (What it uses says little
// about what it wants, now that others go before it: so its credit does not grow meanwhile.) Heavy ones share among
// themselves by their size, as the others do. None is kept below its guarantee by that: what goes before it uses no more
// than the smallest guarantee each, or is soon heavy itself. Where no other wants the processor, weights mean nothing.
export const CREDIT_MS = 100;
/** Cores. No computer is smaller. */
export const CREDIT_RATE = 0.25;
/** Cores: it rests by as much as it uses less. */
export const REST_RATE = 0.05;
export const REST_MS_MIN = 1_000;
export const REST_MS_MAX = 10_000;

export class ProcessorCredit {
  #creditMs = CREDIT_MS;
  #restedMs = 0;
  /** Since it became heavy. */
  #computedMs = 0;
  #heavy: boolean;

  /** @param heavy as it begins: it has not rested yet then, and for how long it computed is not known */
  constructor(heavy = false) {
    this.#heavy = heavy;
  }

  get heavy(): boolean {
    return this.#heavy;
  }

  /** @param usedMs of processor time, within the last `elapsedMs` */
  spend(usedMs: number, elapsedMs: number): void {
    if (this.#heavy) {
      // A short command now and then is no hindrance.
      this.#restedMs = Math.max(0, this.#restedMs + elapsedMs - usedMs / REST_RATE);
      if (this.#restedMs === 0) this.#computedMs += elapsedMs;
      this.#heavy = this.#restedMs < Math.min(Math.max(this.#computedMs, REST_MS_MIN), REST_MS_MAX);
      if (!this.#heavy) this.#creditMs = CREDIT_MS;
    } else {
      this.#creditMs = Math.min(CREDIT_MS, this.#creditMs + CREDIT_RATE * elapsedMs - usedMs);
      this.#heavy = this.#creditMs <= 0;
      this.#restedMs = 0;
      this.#computedMs = 0;
    }
  }
}

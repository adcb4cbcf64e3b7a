// Who answers goes before who computes: a computer that used much processor time lately has less weight against others
// for a while, so that a short command of a neighbour need not wait for it.
//
// Each computer has a credit of processor time. It gains what the smallest computer is guaranteed and loses what it
// uses; with none left it is *heavy*, until the credit is full again. Heavy ones share among themselves by their size, as
// the others do. None is kept below its guarantee by that: what goes before it uses no more than the smallest
// guarantee each, or is soon heavy itself. Where no other wants the processor, weights mean nothing.
export const CREDIT_MS = 250;
/** Cores. No computer is smaller. */
export const CREDIT_RATE = 0.25;

export class ProcessorCredit {
  #creditMs = CREDIT_MS;
  #heavy = false;

  get heavy(): boolean {
    return this.#heavy;
  }

  /** @param usedMs of processor time, within the last `elapsedMs` */
  spend(usedMs: number, elapsedMs: number): void {
    const credit = this.#creditMs + CREDIT_RATE * elapsedMs - usedMs;
    // As much below nothing as above it: after a long computation it is light again within 2 s.
    this.#creditMs = Math.min(CREDIT_MS, Math.max(-CREDIT_MS, credit));
    this.#heavy = this.#heavy ? this.#creditMs < CREDIT_MS : this.#creditMs <= 0;
  }
}

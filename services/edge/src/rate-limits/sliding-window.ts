// Amounts taken in the last minute, in slots of half a second. Pure: the caller passes the time of a monotonic clock.

export const WINDOW_MS = 60_000;
/** A slot counts until its youngest entry is a minute old, so an entry counts for at most this much longer. */
export const SLOT_MS = 500;

interface Slot {
  /** Number of the slot since the start of the clock. */
  readonly at: number;
  amount: number;
}

export class SlidingWindow {
  /** By time, the oldest first; only slots in which something was taken. */
  readonly #slots: Slot[] = [];
  #total = 0;
  /** Requested by this edge and not yet decided. */
  reserved = 0;

  /**
   * Takes an amount, or gives one back that was taken `ageMs` ago. An amount from over a minute ago has already left
   * the window.
   */
  add(now: number, amount: number, ageMs = 0): void {
    this.#drop(now);
    const at = Math.floor((now - ageMs) / SLOT_MS);
    if (leavesAt(at) <= now) return;
    let index = this.#slots.length;
    while (index > 0 && this.#at(index - 1) > at) index -= 1;
    const known = index > 0 ? this.#slots[index - 1] : undefined;
    if (known?.at === at) known.amount += amount;
    else this.#slots.splice(index, 0, { at, amount });
    this.#total += amount;
  }

  total(now: number): number {
    this.#drop(now);
    return Math.max(0, this.#total);
  }

  /** Milliseconds until something leaves the window; 0 when it is empty. */
  nextMs(now: number): number {
    this.#drop(now);
    const [oldest] = this.#slots;
    return oldest ? leavesAt(oldest.at) - now : 0;
  }

  /** Milliseconds until the window is empty, if nothing more is taken. */
  emptyMs(now: number): number {
    this.#drop(now);
    const latest = this.#slots.at(-1);
    return latest ? leavesAt(latest.at) - now : 0;
  }

  /** Milliseconds until an amount fits under the limit, if nothing more is taken. */
  roomMs(now: number, amount: number, limit: number): number {
    this.#drop(now);
    let over = this.#total + this.reserved + amount - limit;
    for (const slot of this.#slots) {
      if (over <= 0) return 0;
      over -= slot.amount;
      if (over <= 0) return leavesAt(slot.at) - now;
    }
    return over <= 0 ? 0 : WINDOW_MS;
  }

  #at(index: number): number {
    return this.#slots[index]?.at ?? 0;
  }

  #drop(now: number): void {
    for (let [oldest] = this.#slots; oldest && leavesAt(oldest.at) <= now; [oldest] = this.#slots) {
      this.#slots.shift();
      this.#total -= oldest.amount;
    }
  }
}

function leavesAt(slot: number): number {
  return (slot + 1) * SLOT_MS + WINDOW_MS;
}

// Enforces the cap on computers per org exactly. A slot is taken by compare-and-set before any other step, and freed
// when the computer is gone. A crash in between leaves a slot without a computer; the sweep finds and frees it.
import type { Bucket } from '@switchyard/bus';
import { type ComputerSlots, ServiceError } from '@switchyard/contracts';
import { type Clock, Locks } from '@switchyard/service';
import type { PlacedRecords } from './placed-records.ts';

/** A slot younger than this may still be waiting for its computer record. */
export const SLOT_EMPTY_MS_MAX = 60_000;

interface SlotsOptions {
  readonly slots: Bucket<ComputerSlots>;
  readonly records: Pick<PlacedRecords, 'find'>;
  readonly clock: Clock;
}

export class Slots {
  readonly #slots: Bucket<ComputerSlots>;
  readonly #records: SlotsOptions['records'];
  readonly #clock: Clock;
  /** Serializes the changes of this instance, so that they do not conflict with each other. */
  readonly #locks = new Locks();

  constructor({ slots, records, clock }: SlotsOptions) {
    this.#slots = slots;
    this.#records = records;
    this.#clock = clock;
  }

  /**
   * Takes a slot, or makes the computer's slot as young as a new one.
   * @throws ServiceError `computer_limit_reached` when the org has `max` other slots
   */
  async take(org: string, id: string, max: number): Promise<void> {
    if (await this.#tryTake(org, id, max)) return;
    if (!(await this.freeEmpty(org)) || !(await this.#tryTake(org, id, max)))
      throw new ServiceError(
        'computer_limit_reached',
        `The org has the maximum of ${max} computers. Delete one first.`,
      );
  }

  async free(org: string, ids: readonly string[]): Promise<void> {
    await this.#freeEach(org, (id) => ids.includes(id));
  }

  /** Frees old slots without a computer. Returns true when it found any. */
  async freeEmpty(org: string): Promise<boolean> {
    const taken = (await this.#slots.get(org))?.value ?? {};
    const now = this.#clock.now();
    const old = Object.keys(taken).filter((id) => now - Date.parse(taken[id]!) > SLOT_EMPTY_MS_MAX);
    const empty: string[] = [];
    for (const id of old) {
      const record = await this.#records.find(org, id);
      if (!record || record.state === 'deleting') empty.push(id);
    }
    const isUnchanged = (id: string, at: string) => taken[id] === at; // it may have been renewed since
    if (empty.length > 0) await this.#freeEach(org, (id, at) => empty.includes(id) && isUnchanged(id, at));
    return empty.length > 0;
  }

  async orgs(): Promise<string[]> {
    return (await this.#slots.entries()).map(({ key }) => key);
  }

  async #tryTake(org: string, id: string, max: number): Promise<boolean> {
    let done = false;
    await this.#change(org, (taken) => {
      done = id in taken || Object.keys(taken).length < max;
      return done ? { ...taken, [id]: this.#now() } : null;
    });
    return done;
  }

  async #freeEach(org: string, isFreed: (id: string, at: string) => boolean): Promise<void> {
    await this.#change(org, (taken) => {
      const left = Object.entries(taken).filter(([id, at]) => !isFreed(id, at));
      return left.length === Object.keys(taken).length ? null : Object.fromEntries(left);
    });
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }

  /** Applies `decide` to the current slots. `decide` may run several times; null means "no change". */
  #change(org: string, decide: (taken: ComputerSlots) => ComputerSlots | null): Promise<void> {
    return this.#locks.run(org, async () => {
      await this.#slots.change(org, (entry) => decide(entry?.value ?? {}));
    });
  }
}

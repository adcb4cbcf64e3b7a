// The cap of computers of an org, exact: a place is taken by compare-and-set before anything else happens, and given
// back when the computer is gone. Whoever dies in between leaves a place without a computer, which is found and freed.
import { type Bucket, type Entry, RevisionConflict } from '@switchyard/bus';
import { type ComputerRecord, type ComputerSlots, computerKey, ServiceError } from '@switchyard/contracts';
import { type Clock, Lock, remember } from '@switchyard/service';

/** A place younger than this may still be waiting for its record. */
export const SLOT_EMPTY_MS_MAX = 60_000;
/** Compare-and-sets that are lost in a row to other instances: each loss is another one's success. */
const CONFLICTS_MAX = 100;
/** Orgs whose places are remembered, the latest ones: one is a few hundred bytes. */
const REMEMBERED_MAX = 1_000;

export interface SlotsOptions {
  readonly slots: Bucket<ComputerSlots>;
  readonly computers: Bucket<ComputerRecord>;
  readonly clock: Clock;
}

export class Slots {
  readonly #slots: Bucket<ComputerSlots>;
  readonly #computers: Bucket<ComputerRecord>;
  readonly #clock: Clock;
  /** One instance's own creates wait for each other instead of losing to each other. */
  readonly #locks = new Map<string, Lock>();
  /** As this instance last wrote them. Another one may have changed them since: what rests on them is written by revision. */
  readonly #written = new Map<string, Entry<ComputerSlots>>();

  constructor({ slots, computers, clock }: SlotsOptions) {
    this.#slots = slots;
    this.#computers = computers;
    this.#clock = clock;
  }

  /** @throws ServiceError `computer_limit_reached` when the org has `max` of them. */
  async take(org: string, id: string, max: number): Promise<void> {
    if (await this.#tryTake(org, id, max)) return;
    if (!(await this.freeEmpty(org)) || !(await this.#tryTake(org, id, max)))
      throw new ServiceError(
        'computer_limit_reached',
        `the org has ${max} computers, as many as it may; delete one first`,
      );
  }

  async free(org: string, ids: readonly string[]): Promise<void> {
    await this.#change(org, (taken) => {
      const left = Object.entries(taken).filter(([id]) => !ids.includes(id));
      return left.length === Object.keys(taken).length ? null : Object.fromEntries(left);
    });
  }

  /** Frees the places that are old and have no computer; says whether there was one. */
  async freeEmpty(org: string): Promise<boolean> {
    const taken = (await this.#slots.get(org))?.value ?? {};
    const now = this.#clock.now();
    const old = Object.keys(taken).filter((id) => now - Date.parse(taken[id]!) > SLOT_EMPTY_MS_MAX);
    const empty: string[] = [];
    for (const id of old) {
      const record = (await this.#computers.get(computerKey(org, id)))?.value;
      if (!record || record.state === 'deleting') empty.push(id);
    }
    if (empty.length > 0) await this.free(org, empty);
    return empty.length > 0;
  }

  async orgs(): Promise<string[]> {
    return (await this.#slots.entries()).map(({ key }) => key);
  }

  async #tryTake(org: string, id: string, max: number): Promise<boolean> {
    let done = false;
    await this.#change(org, (taken) => {
      done = Object.keys(taken).length < max;
      return done ? { ...taken, [id]: new Date(this.#clock.now()).toISOString() } : null;
    });
    return done;
  }

  /**
   * Applies `decide` to what is there; it may run several times, and answers null for "leave it": never by what is
   * remembered alone.
   */
  #change(org: string, decide: (taken: ComputerSlots) => ComputerSlots | null): Promise<void> {
    return this.#lockOf(org).run(async () => {
      const remembered = this.#written.get(org);
      const wanted = remembered && decide(remembered.value);
      if (wanted && (await this.#tryWrite(org, wanted, remembered))) return;
      for (let attempt = 0; attempt < CONFLICTS_MAX; attempt++) {
        const entry = await this.#slots.get(org);
        const wanted = decide(entry?.value ?? {});
        if (wanted === null || (await this.#tryWrite(org, wanted, entry))) return;
      }
      throw new ServiceError('service_unavailable', 'too many changes to the org’s computers at once');
    });
  }

  /** @returns false where somebody else has changed it since `entry` was read */
  async #tryWrite(org: string, value: ComputerSlots, entry: Entry<ComputerSlots> | null): Promise<boolean> {
    this.#written.delete(org);
    try {
      const revision = entry
        ? await this.#slots.update(org, value, entry.revision)
        : await this.#slots.create(org, value);
      remember(this.#written, org, { key: org, value, revision }, REMEMBERED_MAX);
      return true;
    } catch (error) {
      if (error instanceof RevisionConflict) return false;
      throw error;
    }
  }

  #lockOf(org: string): Lock {
    for (const [other, lock] of this.#locks) if (lock.free) this.#locks.delete(other);
    const lock = this.#locks.get(org) ?? new Lock();
    this.#locks.set(org, lock);
    return lock;
  }
}

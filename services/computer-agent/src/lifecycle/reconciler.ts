// Brings records and Docker together, at start and every ten seconds: what was cut short is finished, containers that
// went away are noticed, and containers that belong to nobody are removed after a grace.
import { type Clock, Lock, type Logger } from '@switchyard/service';
import type { ComputerHost } from '../computer/computer-host.ts';
import type { ComputerRecords, RecordEntry } from '../store/computer-records.ts';
import type { Computers } from './computers.ts';

export const RECONCILE_MS = 10_000;
/** A container must have been nobody's for this long: between two steps of a creation it is nobody's for a moment. */
export const ORPHAN_GRACE_MS = 30_000;

export interface ReconcilerOptions {
  readonly host: ComputerHost;
  readonly records: ComputerRecords;
  readonly computers: Computers;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Reconciler {
  readonly #on: ReconcilerOptions;
  /** Containers that no record names -> since when. */
  readonly #orphans = new Map<string, number>();
  readonly #oneAtATime = new Lock();
  #cancel: (() => void) | null = null;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;
  readonly #found = Promise.withResolvers<void>();
  /** Before its computers are found nothing is asked of this agent: what its list of records says is so. */
  #firstRound = true;

  constructor(options: ReconcilerOptions) {
    this.#on = options;
  }

  /**
   * Resolves in the first round, when each computer of this host is known and has begun to be brought in order: who calls
   * it from now on waits for that one, and not for the others.
   */
  get found(): Promise<void> {
    return this.#found.promise;
  }

  /** Goes round every RECONCILE_MS from now on. */
  start(): void {
    if (this.#stopped) return;
    this.#cancel = this.#on.clock.after(RECONCILE_MS, () => {
      this.#round = this.reconcile()
        .catch((error: unknown) =>
          this.#on.logger.warn({ err: error }, 'records and Docker could not be compared'),
        )
        .then(() => this.start());
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#round;
  }

  /** One round. A computer that fails is logged and tried again in the next. */
  reconcile(): Promise<void> {
    return this.#oneAtATime.run(() => this.#goRound());
  }

  async #goRound(): Promise<void> {
    const { host, records, computers, logger } = this.#on;
    const [entries, containers] = await Promise.all([records.all(), host.containers()]);
    const running = new Set(containers.filter((one) => one.running).map((one) => one.containerId));
    const recovered = entries.map((listed) =>
      this.#recover(listed, running).catch((error: unknown) => {
        logger.warn(
          { err: error, computer: listed.value.id },
          'a computer could not be brought in order yet',
        );
      }),
    );
    this.#firstRound = false;
    this.#found.resolve();
    await Promise.all(recovered);
    const owned = new Set<string>();
    for (const { value } of entries) if (value.container !== null) owned.add(value.container);
    for (const { record } of computers.all()) if (record.container !== null) owned.add(record.container);
    await this.#removeOrphans(
      containers.filter((one) => !one.pooled && !owned.has(one.containerId)).map((one) => one.containerId),
    );
  }

  async #recover(listed: RecordEntry, running: ReadonlySet<string>): Promise<void> {
    const { computers, records } = this.#on;
    const { org, id } = listed.value;
    // One that was deleted since the list was made must not be taken up as if it were there.
    const known = this.#firstRound || computers.has(listed.key);
    const entry = known ? listed : await records.get(org, id);
    if (!entry) return;
    const computer = computers.adopt(entry);
    if (computer.changing) return; // the next round finds it at rest
    await computer.recover(running);
  }

  async #removeOrphans(found: readonly string[]): Promise<void> {
    const { host, clock, logger } = this.#on;
    const now = clock.monotonic();
    for (const known of [...this.#orphans.keys()]) if (!found.includes(known)) this.#orphans.delete(known);
    for (const containerId of found) {
      const since = this.#orphans.get(containerId) ?? now;
      this.#orphans.set(containerId, since);
      if (now - since < ORPHAN_GRACE_MS) continue;
      logger.warn({ container: containerId }, 'a container that no computer owns is removed');
      await host.remove(containerId);
      this.#orphans.delete(containerId);
    }
  }
}

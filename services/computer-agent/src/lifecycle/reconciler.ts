// Reconciles records with Docker at start and every ten seconds: finishes interrupted transitions, notices ended
// containers, and removes containers without a record after a grace period. A computer whose record is unreadable is left
// alone. Meanwhile every container may be its own, so none is removed.
import type { ComputerRecord } from '@switchyard/contracts';
import { type Clock, Lock, type Logger, type Repeating, repeat } from '@switchyard/service';
import type { ComputerHost, ListedContainer } from '../computer/computer-host.ts';
import type { ComputerRecords, RecordEntry } from '../store/computer-records.ts';
import type { Computer } from './computer.ts';
import type { Computers } from './computers.ts';
import { clearAway } from './exclusively.ts';
import { reconcile } from './reconcile.ts';

const RECONCILE_MS = 10_000;
/** A container must lack a record for this long: during a creation it lacks one for a moment. */
export const ORPHAN_GRACE_MS = 30_000;

interface ReconcilerDeps {
  readonly host: ComputerHost;
  readonly records: ComputerRecords;
  readonly computers: Computers;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Reconciler {
  readonly #deps: ReconcilerDeps;
  /** Containers without a record -> since when. */
  readonly #orphans = new Map<string, number>();
  readonly #oneAtATime = new Lock();
  #rounds: Repeating | undefined;
  readonly #found = Promise.withResolvers<void>();
  /** All records could be read in the last round, so a container that none of them names has no owner. */
  #knowsOwners = false;
  /** Before `found`, this agent gets no requests, so its list of records is accurate. */
  #firstRound = true;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves in the first round, when every computer of this host is known and its recovery has begun. Later calls
   * wait only for their own computer.
   */
  get found(): Promise<void> {
    return this.#found.promise;
  }

  /** Whether a computer of this host owns the container, or may own it. */
  mayBeOwned(containerId: string): boolean {
    const isOwn = ({ record }: Computer) => record.container === containerId;
    return !this.#knowsOwners || this.#deps.computers.all().some(isOwn);
  }

  /** Reconciles every RECONCILE_MS from now on. */
  start(): void {
    const { clock, logger } = this.#deps;
    const failed = 'records and Docker could not be compared';
    this.#rounds = repeat({ everyMs: RECONCILE_MS, clock, logger, failed }, () => this.reconcile());
  }

  async stop(): Promise<void> {
    await this.#rounds?.stop();
  }

  /** Runs one round. A computer that fails is logged and tried again in the next round. */
  reconcile(): Promise<void> {
    return this.#oneAtATime.run(() => this.#goRound());
  }

  async #goRound(): Promise<void> {
    const { host, records, computers, logger } = this.#deps;
    const [listed, containers] = await Promise.all([records.all(), host.containers()]);
    const entries = [...listed.values()].filter((entry) => entry !== null);
    this.#knowsOwners = entries.length === listed.size;
    const running = new Set(containers.filter((one) => one.running).map((one) => one.containerId));
    const orWarn = (id: string, work: Promise<void>) =>
      work.catch((error: unknown) => {
        logger.warn({ err: error, computer: id }, 'a computer could not be reconciled yet');
      });
    const unlisted = computers.all().filter(({ entry }) => !listed.has(entry.key));
    const recovered = [
      ...entries.map((entry) => orWarn(entry.value.id, this.#recover(entry, running))),
      ...unlisted.map((computer) => orWarn(computer.id, this.#clearAwayLost(computer))),
    ];
    this.#firstRound = false;
    this.#found.resolve();
    await Promise.all(recovered);
    if (!this.#knowsOwners) return;
    const owners = [...entries.map(({ value }) => value), ...computers.all().map(({ record }) => record)];
    await this.#removeOrphans(orphansAmong(containers, owners));
  }

  /**
   * Removes the containers that no computer owns, without the grace period. Call it at the end, when no creation is in
   * progress: the engine may have failed to remove the container of a computer that ended.
   */
  async removeAllOrphans(): Promise<void> {
    const { host, computers } = this.#deps;
    if (!this.#knowsOwners) return;
    const owners = computers.all().map(({ record }) => record);
    for (const containerId of orphansAmong(await host.containers(), owners)) await this.#remove(containerId);
  }

  async #recover(listed: RecordEntry, running: ReadonlySet<string>): Promise<void> {
    const { computers, records } = this.#deps;
    const { org, id } = listed.value;
    // Skip a computer that was deleted after the list was made.
    const known = this.#firstRound || computers.has(listed.key);
    const entry = known ? listed : await records.get(org, id);
    if (!entry) return;
    const computer = computers.adopt(entry);
    if (computer.changing) return; // the next round handles it
    await reconcile(computer, running);
  }

  /** If a run is in progress, its next write notices that the record is gone. */
  async #clearAwayLost(computer: Computer): Promise<void> {
    const { org, id } = computer.record;
    if (computer.changing || (await this.#deps.records.get(org, id))) return;
    await computer.lock.run(async () => {
      if (!computer.isGone && !computer.run) await clearAway(computer, null);
    });
  }

  async #removeOrphans(found: readonly string[]): Promise<void> {
    const { clock, logger } = this.#deps;
    const now = clock.monotonic();
    for (const known of [...this.#orphans.keys()]) if (!found.includes(known)) this.#orphans.delete(known);
    for (const containerId of found) {
      const since = this.#orphans.get(containerId) ?? now;
      this.#orphans.set(containerId, since);
      if (now - since < ORPHAN_GRACE_MS) continue;
      logger.warn({ container: containerId }, 'a container that no computer owns is removed');
      await this.#remove(containerId);
    }
  }

  /** Logs a failure, so that the others are still removed. */
  async #remove(containerId: string): Promise<void> {
    const { host, logger } = this.#deps;
    await host.remove(containerId).catch((error: unknown) => {
      logger.warn({ err: error, container: containerId }, 'a container that no computer owns is left over');
    });
  }
}

function orphansAmong(
  containers: readonly ListedContainer[],
  owners: readonly Pick<ComputerRecord, 'container'>[],
): string[] {
  const owned = new Set(owners.map(({ container }) => container));
  return containers
    .filter(({ pooled, containerId }) => !pooled && !owned.has(containerId))
    .map(({ containerId }) => containerId);
}

// The order of two ledger rows. Within a partition their numbers give the order. Across partitions the fences do: an
// org changes its partition only between two layouts.
import { answered } from '../store/answered.ts';
import type { LedgerRow } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import { fenceId } from './fence.ts';
import type { Layout } from './layout.ts';
import { namesEver } from './partition.ts';

type Fences = ReadonlyMap<string, readonly { n: bigint; epoch: number }[]>;
type Numbered = Pick<LedgerRow, 'p' | 'n'>;

export class LedgerOrder {
  /** The fences of each partition: their numbers, and the epochs that begin there; the latest first. */
  readonly #fences: Fences;

  private constructor(fences: Fences) {
    this.#fences = fences;
  }

  /** @throws DatabaseSilent, and the driver's errors */
  static async read({ ledger }: Store, layout: Layout): Promise<LedgerOrder> {
    const epochs = Array.from({ length: layout.epoch }, (_, i) => layout.epoch - i);
    const names = namesEver(layout);
    const ids = new Map(
      epochs.flatMap((epoch) => names.map((name) => [fenceId(epoch, name), epoch] as const)),
    );
    if (ids.size === 0) return new LedgerOrder(new Map());
    const rows = await answered(
      ledger.find({ _id: { $in: [...ids.keys()] } }, { projection: { p: 1, n: 1 } }).toArray(),
    );
    const fences = rows.map(({ _id, p, n }) => ({ p, n, epoch: ids.get(_id) ?? 0 }));
    fences.sort((a, b) => b.epoch - a.epoch);
    return new LedgerOrder(Map.groupBy(fences, ({ p }) => p));
  }

  isBefore(one: Numbered, other: Numbered): boolean {
    return one.p === other.p ? one.n < other.n : this.#epochOf(one) < this.#epochOf(other);
  }

  #epochOf({ p, n }: Numbered): number {
    return this.#fences.get(p)?.find((fence) => fence.n < n)?.epoch ?? 0;
  }
}

// Partitions of the ledger. Each has its own gapless numbers, one owner at a time, and the orgs that the layout assigns
// (layout.ts). Every row and every aggregate names its partition.

/** Name of a partition: part of ledger rows (`p`), of the ids of aggregates, and of its lease and consumer. */
export function partitionName(partition: number): string {
  return `p${partition}`;
}

/** The partition that always exists. */
export const FIRST_PARTITION = partitionName(0);

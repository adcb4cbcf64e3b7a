// Partitions of the ledger. Each has numbers of its own without a gap, one owner at a time, and the orgs that the layout
// gives it (layout.ts); every row and every aggregate says whose it is.

/** What a partition is called: part of ledger rows (`p`), of the ids of aggregates, and of its lease and consumer. */
export function partitionName(partition: number): string {
  return `p${partition}`;
}

/** The one that there always is. */
export const FIRST_PARTITION = partitionName(0);

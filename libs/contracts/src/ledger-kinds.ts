// The kinds of ledger rows.

/** Every kind of ledger row: the part of a statement that it is in, and whether it may be refunded by hand. */
export const LEDGER_KINDS = {
  call: { part: 'usage', refundable: true },
  computer_minute: { part: 'usage', refundable: true },
  video: { part: 'usage', refundable: true },
  refund: { part: 'refund', refundable: false },
  void: { part: 'usage', refundable: false },
  credit: { part: 'usage', refundable: false },
  /** No event and no org: another layout of partitions begins here (partitions/fence.ts). */
  fence: { part: 'usage', refundable: false },
} as const;
export type LedgerKind = keyof typeof LEDGER_KINDS;

// The kinds of ledger rows. Billing books by this table; Logs, statements and their descriptions derive from it.

interface LedgerKindRule {
  /** The part of a statement that its rows are in. */
  readonly part: 'usage' | 'refund';
  /** An operator may refund its rows. */
  readonly refundable: boolean;
  /** Kind of the line in Logs; null: its rows have none of their own. */
  readonly log: 'call' | 'computer_minute' | 'refund' | null;
}

export const LEDGER_KINDS = {
  call: { part: 'usage', refundable: true, log: 'call' },
  computer_minute: { part: 'usage', refundable: true, log: 'computer_minute' },
  video: { part: 'usage', refundable: true, log: 'call' },
  refund: { part: 'refund', refundable: false, log: 'refund' },
  void: { part: 'usage', refundable: false, log: null },
  credit: { part: 'usage', refundable: false, log: null },
  /** No event and no org: another layout of partitions begins here (billing's partitions/fence.ts). */
  fence: { part: 'usage', refundable: false, log: null },
} as const satisfies Readonly<Record<string, LedgerKindRule>>;
export type LedgerKind = keyof typeof LEDGER_KINDS;
export type LogKind = NonNullable<(typeof LEDGER_KINDS)[LedgerKind]['log']>;

/** Kinds of lines in Logs. */
export const LOG_KINDS: readonly LogKind[] = [
  ...new Set(Object.values(LEDGER_KINDS).flatMap(({ log }) => log ?? [])),
];

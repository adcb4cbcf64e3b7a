// The kinds of drift that an audit can find, their descriptions, and the list that collects drifts.

/** Every kind of drift. docs/money.md explains each kind and its repair. */
export const DRIFTS = {
  gap: 'a number is missing in the ledger',
  row_unnumbered: 'a ledger row is outside the numbers',
  answer_not_booked: 'an answer with a cost has no ledger row',
  answer_differs: 'an answer has another cost than its ledger row',
  event_not_booked: 'an event of the stream has no ledger row',
  event_differs: 'an event states a cost that is not the sum of its lines',
  event_unread: 'a message of the stream is no event and was not rejected',
  row_without_event: 'a ledger row has no event in the stream, which covers it',
  row_differs: 'a ledger row differs from its event',
  row_misplaced: 'a ledger row names a line of a statement that it is not in',
  log_missing: 'a ledger row has no log row',
  log_differs: 'a log row differs from its ledger row',
  log_without_row: 'a log row has a cost, and no ledger row',
  aggregate_missing: 'an aggregate is missing',
  aggregate_extra: 'an aggregate has no ledger row',
  aggregate_differs: 'an aggregate is not the sum of its ledger rows',
  sum_differs: 'the sums of an org do not agree',
  balance_differs: 'billing states another balance than the ledger',
  hold_left: 'something is held though nothing runs',
} as const;
type DriftKind = keyof typeof DRIFTS;

export interface Drift {
  readonly kind: DriftKind;
  readonly org: string | null;
  /** The id of the wrong row, event or aggregate, or a number, or an org. */
  readonly subject: string;
  /** The value found, and the expected value. */
  readonly detail: string;
}

/** Maximum number of drifts listed by name; others are only counted. A wrong backup would cause millions. */
const DRIFTS_NAMED_MAX = 1_000;

/** The drifts found so far, without duplicates. */
export class Findings {
  readonly #named = new Map<string, Drift>();
  #count = 0;

  add(drift: Drift): void {
    const id = `${drift.kind}/${drift.subject}`;
    if (this.#named.has(id)) return;
    this.#count += 1;
    if (this.#named.size < DRIFTS_NAMED_MAX) this.#named.set(id, drift);
  }

  /** Total number of drifts, including those beyond `DRIFTS_NAMED_MAX`. */
  get count(): number {
    return this.#count;
  }

  get named(): Drift[] {
    return [...this.#named.values()];
  }
}

// Declarations of events.
import { z } from 'zod';
import type { LedgerKind, LogKind } from '../ledger-kinds.ts';
import type { ServiceName } from '../services.ts';

/** Integer nano-dollars as a decimal string: JSON has no exact integers of that size. */
export const nanos = z.string().regex(/^-?\d{1,18}$/);

/** What was counted, at which rate: the price frozen in the event. Same meaning as libs/money's ChargeLine. */
export const chargeLine = z.object({
  unit: z.string(),
  quantity: z.union([z.number().nonnegative(), z.string()]),
  rate: z.string(),
  per: z.int().positive().optional(),
});

interface Definition<D> {
  /** What happened, as docs/events.md says it. */
  readonly meaning: string;
  /** The only service that may publish it. */
  readonly by: ServiceName;
  /** What one line about it shows, in this order (`eventLine`). */
  readonly shows: readonly (keyof D & string)[];
}

/** An event that billing books: it has a ledger row, a log row or both. */
export interface Booked<D> {
  /** The id that the event must have. Exactly-once booking depends on it: the same fact always has the same id. */
  readonly id: (data: D) => string;
  /** Kind of its ledger row; null: it has none. */
  readonly kind: LedgerKind | (D extends Priced ? never : null);
  /** Kind of the log row of an event without a ledger row; else the kind of the ledger row decides (LEDGER_KINDS). */
  readonly log?: LogKind;
  /** `any_time`: a repeat after a crash may state another time, so the audit compares no times. */
  readonly repeats: 'same_time' | 'any_time';
}

/** The data of an event that states an amount of money. */
type Priced = { readonly cost_nano: string } | { readonly amount_nano: string };

export interface DefinedEvent<S extends z.ZodObject> extends Definition<z.infer<S>> {
  readonly data: S;
}

export interface BookedEvent<S extends z.ZodObject> extends DefinedEvent<S> {
  readonly booked: Booked<z.infer<S>>;
}

/** Declares an event of `EVENTS` that billing ignores. One that states an amount of money must be booked. */
export function defineEvent<S extends z.ZodObject>(
  event: DefinedEvent<S> & (z.infer<S> extends Priced ? { readonly booked: never } : unknown),
): DefinedEvent<S> {
  return event;
}

/** Declares an event of `EVENTS` that billing books: billing's store/entry-fields.ts has the fields of its rows. */
export function defineBookedEvent<S extends z.ZodObject>(event: BookedEvent<S>): BookedEvent<S> {
  return event;
}

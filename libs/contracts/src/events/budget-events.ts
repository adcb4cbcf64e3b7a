// Events of budgets: the limits of orgs and keys.
import { z } from 'zod';
import { LIMIT_INTERVALS, type LimitInterval } from '../accounts.ts';
import { defineEvent, nanos } from './define-event.ts';

/** Percent of a limit at which an event is published. */
export const BUDGET_THRESHOLDS = [50, 80, 100] as const;

const budgetThreshold = z.object({
  org: z.string(),
  /** The key whose limit it is; null: the monthly limit of the org. */
  key_id: z.string().nullable(),
  /** Percent. */
  threshold: z.literal(BUDGET_THRESHOLDS),
  interval: z.enum(LIMIT_INTERVALS),
  /** The period, in UTC. */
  starts_at: z.iso.datetime(),
  ends_at: z.iso.datetime(),
  limit_nano: nanos,
  /** Booked in the period when the threshold was detected. */
  spent_nano: nanos,
});

export const budgetEvents = {
  'budget.threshold': defineEvent({
    meaning: 'Spending reached 50, 80 or 100 percent of the limit of an org or a key; once for each period.',
    by: 'billing',
    data: budgetThreshold,
    shows: ['org', 'key_id', 'threshold', 'interval', 'spent_nano', 'limit_nano'],
  }),
} as const;

interface Threshold {
  /** Id of the org or the key. */
  readonly budget: string;
  readonly interval: LimitInterval;
  readonly startsAt: Date;
  readonly threshold: number;
}

/** The same fact always has the same id. */
export const budgetEventIds = {
  budgetThreshold: ({ budget, interval, startsAt, threshold }: Threshold) =>
    `${budget}:${interval}:${startsAt.toISOString().slice(0, 'YYYY-MM-DD'.length)}:${threshold}`,
} as const;

// Events of orgs, their keys, credits and refunds.
import { z } from 'zod';
import { billingMode } from '../accounts.ts';
import { administered } from './administered.ts';
import { defineBookedEvent, defineEvent, nanos } from './define-event.ts';

/** Credits of an org: a separate ledger row, which costs nothing and may be spent. */
const creditGranted = z.object({
  credit_id: z.string(),
  org: z.string(),
  /** The key that granted it. */
  key_id: z.string(),
  amount_nano: nanos,
  reason: z.string(),
  reference: z.string().nullable(),
});

/** An operator refunded a charge, in whole or in part. */
const chargeRefunded = z.object({
  refund_id: z.string(),
  org: z.string(),
  /** The key that refunded it. */
  key_id: z.string(),
  /** Id of the event that charged. */
  charge: z.string(),
  /** Id of its line in Logs. */
  request_id: z.string(),
  /** Sequence number among the refunds of this charge, from 1. A number is used only once. */
  number: z.int().positive(),
  amount_nano: nanos,
  reason: z.string(),
  reference: z.string().nullable(),
});

const byWhom = administered.partial();
const keyChanged = byWhom.extend({
  key_id: z.string(),
  org: z.string(),
  by_key_id: z.string().nullable(),
});

const accountUpdated = z.object({
  org: z.string(),
  by_key_id: z.string(),
  billing: billingMode,
  /** Null: no limit. */
  monthly_limit_nano: nanos.nullable(),
});

const orgChanged = byWhom.extend({ org: z.string(), by_key_id: z.string() });

const orgSuspended = orgChanged.extend({
  /** When the data of a deleted org are removed; null: it was only suspended. */
  removed_at: z.iso.datetime().nullable(),
});

const KEY_SHOWS = ['key_id', 'by_key_id'] as const;

/** The same fact always has the same id. */
export const accountEventIds = {
  org: (org: string, change: 'created' | 'removed') => `${org}:${change}`,
  /** `revision`, here and below, is that of the record that the change replaced. */
  orgChanged: (org: string, change: 'changed' | 'suspended' | 'restored', revision: number) =>
    `${org}:${change}:${revision}`,
  accountUpdated: (org: string, revision: number) => `${org}:updated:${revision}`,
  keyUpdated: (keyId: string, revision: number) => `${keyId}:updated:${revision}`,
  keyRotated: (keyId: string, revision: number) => `${keyId}:rotated:${revision}`,
  credit: (creditId: string) => creditId,
  /** `number` among the refunds of a charge: two concurrent refunds cannot both have it. */
  refund: (charge: string, number: number) => `${charge}:refund:${number}`,
  key: (keyId: string, change: 'created' | 'revoked') => `${keyId}:${change}`,
} as const;

export const accountEvents = {
  'credit.granted': defineBookedEvent({
    meaning: 'An org got credits; it may spend them when it is prepaid.',
    by: 'billing',
    data: creditGranted,
    shows: ['amount_nano', 'reason', 'reference'],
    booked: {
      id: ({ credit_id }) => accountEventIds.credit(credit_id),
      kind: 'credit',
      repeats: 'same_time',
    },
  }),
  'charge.refunded': defineBookedEvent({
    meaning: 'An operator refunded a charge, in whole or in part; `charge` names its event.',
    by: 'billing',
    data: chargeRefunded,
    shows: ['charge', 'amount_nano', 'reason', 'reference'],
    booked: {
      id: ({ charge, number }) => accountEventIds.refund(charge, number),
      kind: 'refund',
      repeats: 'same_time',
    },
  }),
  'account.updated': defineEvent({
    meaning:
      'How an org pays, or what it may spend in a month, was changed; `billing` and `monthly_limit_nano` say to what.',
    by: 'control',
    data: accountUpdated,
    shows: ['org', 'billing', 'monthly_limit_nano'],
  }),
  'org.created': defineEvent({
    meaning: 'An operator created an org.',
    by: 'control',
    data: orgChanged,
    shows: ['org', 'by_key_id'],
  }),
  'org.updated': defineEvent({
    meaning: 'The name, payment or limits of an org were changed; `changes` says from what to what.',
    by: 'control',
    data: orgChanged,
    shows: ['org', 'by_key_id'],
  }),
  'org.suspended': defineEvent({
    meaning: 'An org was suspended, or deleted: then `removed_at` says when its data are removed.',
    by: 'control',
    data: orgSuspended,
    shows: ['org', 'by_key_id', 'removed_at'],
  }),
  'org.restored': defineEvent({
    meaning: 'A suspended or deleted org is active again.',
    by: 'control',
    data: orgChanged,
    shows: ['org', 'by_key_id'],
  }),
  'org.removed': defineEvent({
    meaning: 'The data of a deleted org were removed.',
    by: 'control',
    data: byWhom.extend({ org: z.string() }),
    shows: ['org'],
  }),
  'key.created': defineEvent({
    meaning: 'An API key was created.',
    by: 'control',
    data: keyChanged,
    shows: KEY_SHOWS,
  }),
  'key.updated': defineEvent({
    meaning: 'An API key was given another name, permissions or limits.',
    by: 'control',
    data: keyChanged,
    shows: KEY_SHOWS,
  }),
  'key.rotated': defineEvent({
    meaning: 'An API key was given another secret.',
    by: 'control',
    data: keyChanged,
    shows: KEY_SHOWS,
  }),
  'key.revoked': defineEvent({
    meaning: 'An API key was revoked.',
    by: 'control',
    data: keyChanged,
    shows: KEY_SHOWS,
  }),
} as const;

// Every index, and the query that it serves. Logs are always read newest first within one org, so each of their indexes
// ends in (at, _id), which is also the order of the cursor.
import type { CreateIndexesOptions, IndexSpecification } from 'mongodb';
import { answered } from './answered.ts';
import type { Store } from './store.ts';

interface Index {
  readonly name: string;
  readonly keys: IndexSpecification;
  readonly options?: CreateIndexesOptions;
}

export const INDEXES = {
  ledger: [
    // The gapless number: it stops a second writer, and gives the order of folding.
    { name: 'number', keys: { p: 1, n: 1 }, options: { unique: true } },
    // usage.get: minutes, and the ends of a range within a quarter hour
    { name: 'org_at', keys: { org: 1, at: 1 } },
    // limits: the refunds of a window; contains only refunds
    {
      name: 'org_at_charged_at',
      keys: { org: 1, at: 1, charged_at: 1 },
      options: { partialFilterExpression: { charged_at: { $exists: true } } },
    },
    // statements.events: the rows of one line of a statement, in order
    { name: 'org_month_line', keys: { org: 1, month: 1, line: 1, n: 1 } },
    // refunds.create, logs.get: the charge of a video by the id of its request; contains only videos
    { name: 'request_id', keys: { request_id: 1 }, options: { sparse: true } },
    // account.get, credits.list, statements, and the balance of a prepaid org; contains only credits
    { name: 'credit_org', keys: { 'credit.org': 1 }, options: { sparse: true } },
  ],
  logs: [
    // logs.list without a filter, or with `from` and `to` only
    { name: 'org_at', keys: { org: 1, at: -1, _id: -1 } },
    // logs.list?key=; keys.spending: the last use of a key
    { name: 'org_key_at', keys: { org: 1, key: 1, at: -1, _id: -1 } },
    // logs.list?type=
    { name: 'org_type_at', keys: { org: 1, type: 1, at: -1, _id: -1 } },
    // logs.list?model= (the model that served, or the requested model)
    { name: 'org_models_at', keys: { org: 1, models: 1, at: -1, _id: -1 } },
    // logs.list?computer=
    { name: 'org_computer_at', keys: { org: 1, computer: 1, at: -1, _id: -1 } },
    // logs.list?status=
    { name: 'org_status_at', keys: { org: 1, status: 1, at: -1, _id: -1 } },
    // logs.list?tag=; contains only rows with tags
    {
      name: 'org_tags_at',
      keys: { org: 1, tags: 1, at: -1, _id: -1 },
      options: { partialFilterExpression: { tags: { $exists: true } } },
    },
    // logs.list?client_request_id=; contains only calls with one
    {
      name: 'org_client_request_id_at',
      keys: { org: 1, client_request_id: 1, at: -1, _id: -1 },
      options: { partialFilterExpression: { client_request_id: { $exists: true } } },
    },
    // logs.list?cost_min=&cost_max= when few rows are in the range; otherwise `org_at`. account.audit: rows with a cost
    { name: 'org_cost_at', keys: { org: 1, cost: 1, at: -1, _id: -1 } },
    // logs.list?request_id=: the refunds of a call; contains only refunds
    { name: 'corrects', keys: { corrects: 1 }, options: { sparse: true } },
    // The audit: the line of a video's charge; contains only videos
    { name: 'charge', keys: { charge: 1 }, options: { sparse: true } },
    // Retention: the oldest rows of all orgs
    { name: 'at', keys: { at: 1 } },
  ],
  // usage.get: one family over a range of time
  hours: [{ name: 'org_family_start', keys: { org: 1, family: 1, start: 1 } }],
  days: [{ name: 'org_family_start', keys: { org: 1, family: 1, start: 1 } }],
  // statements.get, statements.list: the lines of a month, and the sums of all
  lines: [{ name: 'org_month', keys: { org: 1, month: 1 } }],
  alerts: [
    // The alerts to publish
    { name: 'published_at', keys: { published_at: 1 } },
    // Retention: the alerts of past periods
    { name: 'ends_at', keys: { ends_at: 1 } },
  ],
  auditLog: [
    // audit-log.list of all orgs, and retention
    { name: 'at', keys: { at: -1, _id: -1 } },
    // audit-log.list of one org
    { name: 'org_at', keys: { org: 1, at: -1, _id: -1 } },
    // audit-log.list?actor=
    { name: 'actor_at', keys: { 'actor.key_id': 1, at: -1, _id: -1 } },
  ],
} as const satisfies Record<string, readonly Index[]>;

/** Creates missing indexes. Idempotent. */
export async function ensureIndexes(store: Store): Promise<void> {
  const { ledger, logs, alerts, auditLog, aggregates } = store;
  const collections = { ledger, logs, alerts, auditLog, ...aggregates };
  for (const [name, indexes] of Object.entries(INDEXES) as [keyof typeof INDEXES, readonly Index[]][])
    for (const index of indexes)
      await answered(collections[name].createIndex(index.keys, { ...index.options, name: index.name }));
}

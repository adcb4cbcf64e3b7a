// Org records in KV: found by id, changed by compare-and-set.
import { type Bucket, type Entry, type EventPublisher, type Mirror, RevisionConflict } from '@switchyard/bus';
import { DEFAULT_ORG, type Event, type OrgRecord, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { changeWithEvents } from '../changes/write.ts';

export interface OrgDeps {
  readonly orgs: Bucket<OrgRecord>;
  /** Mirror of all orgs, for lists. */
  readonly knownOrgs: Pick<Mirror<OrgRecord>, 'entries' | 'caughtUp'>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly clock: Clock;
}

/** Creates the record of the operator's own org if it is missing. Idempotent, for any number of instances. */
export async function ensureDefaultOrg(orgs: Bucket<OrgRecord>, now: number): Promise<void> {
  const at = new Date(now).toISOString();
  const record: OrgRecord = {
    ...{ id: DEFAULT_ORG, name: 'default', billing: 'postpaid', monthly_limit: null },
    ...{ created_at: at, updated_at: at, suspended_at: null, removed_at: null },
  };
  await orgs.create(DEFAULT_ORG, record).catch((error: unknown) => {
    if (!(error instanceof RevisionConflict)) throw error; // it exists
  });
}

/** @throws ServiceError `org_not_found` */
export async function findOrg(orgs: Bucket<OrgRecord>, id: string): Promise<Entry<OrgRecord>> {
  return (await orgs.get(id)) ?? notFound(id);
}

function notFound(id: string): never {
  throw new ServiceError('org_not_found', `Org not found: ${id}. GET /v1/orgs lists all orgs.`, {
    param: 'id',
  });
}

export interface ChangedOrg {
  readonly before: OrgRecord;
  readonly record: OrgRecord;
  /** Of the record that was replaced. */
  readonly revision: number;
}

interface OrgChange {
  /** May run again on a newer record. */
  readonly change: (record: OrgRecord) => OrgRecord;
  readonly eventsOf: (change: ChangedOrg) => readonly Event[];
}

/** @throws ServiceError `org_not_found`; the errors of `change` */
export async function changeOrg(
  { orgs, events, clock }: Pick<OrgDeps, 'orgs' | 'events' | 'clock'>,
  id: string,
  { change, eventsOf }: OrgChange,
): Promise<OrgRecord> {
  await findOrg(orgs, id);
  const updated_at = new Date(clock.now()).toISOString();
  const changed = await changeWithEvents(
    { bucket: orgs, events },
    id,
    (entry) => entry && { ...change(entry.value), updated_at },
    (before, record) => (before ? eventsOf({ before: before.value, record, revision: before.revision }) : []),
  );
  return changed?.value ?? notFound(id);
}

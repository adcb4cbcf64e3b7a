// Stops the computers of suspended orgs, and removes the data of deleted ones when their time has come. Any number of
// instances may run the sweep: each step is idempotent, and one that failed is repeated.
import { eventIds } from '@switchyard/contracts';
import { type Repeating, repeat } from '@switchyard/service';
import { administered, controlEvent } from '../changes/administered.ts';
import { deleteWithEvents } from '../changes/write.ts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import type { FileOperations } from '../files/file-operations.ts';
import { deleteComputer } from '../operations/computers-delete.ts';
import { deleteFile } from '../operations/files-delete.ts';
import type { KeyOperations } from '../operations/keys-create.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import type { OrgDeps } from './org-records.ts';
import { isRemovalDue } from './org-status.ts';
import { stopComputersOf } from './stop-computers.ts';

const ORG_SWEEP_MS = 30_000;

interface OrgSweepDeps extends OrgDeps {
  readonly computers: ComputerOperations;
  readonly files: FileOperations;
  readonly keys: Pick<KeyOperations, 'keys' | 'known'>;
  readonly webhooks: Pick<WebhookOperations, 'webhooks' | 'deliveries' | 'signingSecrets'>;
}

/** Runs the sweep every ORG_SWEEP_MS. */
export function keepSweepingOrgs(deps: OrgSweepDeps): Repeating {
  const failed = 'the sweep of orgs failed';
  const { clock } = deps;
  return repeat({ everyMs: ORG_SWEEP_MS, clock, logger: deps.computers.logger, failed }, () =>
    sweepOrgs(deps),
  );
}

/** What fails for one org does not keep others from their turn. */
async function sweepOrgs(deps: OrgSweepDeps): Promise<void> {
  const { logger } = deps.computers;
  const suspended = deps.knownOrgs.entries().filter(([, { suspended_at }]) => suspended_at !== null);
  const warn = (org: string) => (error: unknown) =>
    logger.warn({ err: error, org }, 'the sweep of a suspended org failed');
  for (const [org] of suspended) await stopComputersOf(deps.computers, org).catch(warn(org));
  for (const [org] of suspended) await removeIfDue(deps, org).catch(warn(org));
}

/** Removes the data of an org whose time has come. It cannot be restored from then on. */
async function removeIfDue(deps: OrgSweepDeps, org: string): Promise<void> {
  const entry = await deps.orgs.get(org); // memory may lag behind a restoration
  if (entry && isRemovalDue(entry.value, deps.clock.now()))
    await removeOrg(deps, entry.value.id, entry.revision);
}

/** The ledger stays. The record of the org goes last: until then its keys are refused. */
async function removeOrg(deps: OrgSweepDeps, org: string, revision: number): Promise<void> {
  const { computers, files, keys, webhooks, orgs, events, clock } = deps;
  const caller = { org, key_id: 'control' };
  const mine = `${org}.>`;
  for (const { state, id } of await computers.records.ofOrg(org))
    if (state !== 'deleting') await deleteComputer(computers)({ ...caller, id });
  for (const { value } of await files.files.entries(mine))
    if (!value.deleting_at) await deleteFile(files)({ ...caller, id: value.id });
  for (const key of await webhooks.webhooks.keys(mine)) {
    await webhooks.webhooks.delete(key);
    await webhooks.deliveries.purge(key);
  }
  await webhooks.signingSecrets.delete(org);
  for (const { key, value } of await keys.keys.entries()) if (value.org === org) await keys.keys.delete(key);
  const data = { org, ...administered(null, null, null) };
  const removed = controlEvent('org.removed', { id: eventIds.org(org, 'removed'), now: clock.now(), data });
  await deleteWithEvents({ bucket: orgs, events }, org, [removed], revision);
}

// Stops the computers of suspended orgs, and removes the data of deleted ones when due. Any number of
// instances may run the sweep: each step is idempotent, and one that failed is repeated.
import { eventIds } from '@switchyard/contracts';
import { administered, controlEvent } from '../changes/administered.ts';
import { deleteWithEvents } from '../changes/write.ts';
import type { ComputerOperations } from '../computers/computer-operations.ts';
import { removeComputer } from '../computers/removal.ts';
import { deleteFile } from '../files/deletion.ts';
import { type FileOperations, isVisible } from '../files/file-operations.ts';
import type { KeyOperations } from '../operations/keys-create.ts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';
import type { OrgDeps } from './org-records.ts';
import { isRemovalDue } from './org-status.ts';
import { stopComputersOf } from './stop-computers.ts';

interface OrgSweepDeps extends OrgDeps {
  readonly computers: ComputerOperations;
  readonly files: FileOperations;
  readonly keys: Pick<KeyOperations, 'keys'>;
  readonly webhooks: Pick<WebhookOperations, 'webhooks' | 'deliveries' | 'signingSecrets'>;
}

/** A failure of one org does not block the others. */
export async function sweepOrgs(deps: OrgSweepDeps): Promise<void> {
  const { logger } = deps.computers;
  const suspended = deps.knownOrgs.entries().filter(({ value }) => value.suspended_at !== null);
  const warn = (org: string) => (error: unknown) =>
    logger.warn({ err: error, org }, 'the sweep of a suspended org failed');
  for (const { key: org } of suspended) await stopIfStillSuspended(deps, org).catch(warn(org));
  for (const { key: org } of suspended) await removeIfDue(deps, org).catch(warn(org));
}

async function stopIfStillSuspended({ orgs, computers }: OrgSweepDeps, org: string): Promise<void> {
  const entry = await orgs.get(org); // it may have been restored while others were stopped
  if (entry && entry.value.suspended_at !== null) await stopComputersOf(computers, org);
}

/** Removes the data of an org if due. It cannot be restored from then on. */
async function removeIfDue(deps: OrgSweepDeps, org: string): Promise<void> {
  const entry = await deps.orgs.get(org); // memory may lag behind a restoration
  if (entry && isRemovalDue(entry.value, deps.clock.now()))
    await removeOrg(deps, entry.value.id, entry.revision);
}

/**
 * The ledger stays, and videos have expired by themselves. The record of the org goes last, once nothing else is left:
 * until then its keys are refused. A failed step does not block the others.
 * @throws AggregateError of the failures; the next sweep retries them
 */
async function removeOrg(deps: OrgSweepDeps, org: string, revision: number): Promise<void> {
  const { orgs, events, clock } = deps;
  const steps = [removeComputers, removeFiles, removeWebhooks, removeKeys];
  const failures = await failuresOf(steps, (step) => step(deps, org));
  if (failures.length > 0) throw new AggregateError(failures, `data of ${org} could not be removed`);
  const data = { org, ...administered(null, null, null) };
  const removed = controlEvent('org.removed', { id: eventIds.org(org, 'removed'), now: clock.now(), data });
  await deleteWithEvents({ bucket: orgs, events }, org, [removed], revision);
}

async function removeComputers({ computers }: OrgSweepDeps, org: string): Promise<void> {
  const there = (await computers.records.ofOrg(org)).filter(({ state }) => state !== 'deleting');
  await eachOf(there, ({ id }) => removeComputer(computers, { org, id }));
}

/** Leaves deleted and expired files to their own sweep. */
async function removeFiles({ files, clock }: OrgSweepDeps, org: string): Promise<void> {
  const there = (await files.files.entries(`${org}.>`)).filter(({ value }) => isVisible(value, clock));
  await eachOf(there, ({ value }) => deleteFile(files, org, value.id));
}

async function removeWebhooks({ webhooks }: OrgSweepDeps, org: string): Promise<void> {
  await eachOf(await webhooks.webhooks.keys(`${org}.>`), async (key) => {
    await webhooks.webhooks.delete(key);
    await webhooks.deliveries.purge(key);
  });
  await webhooks.signingSecrets.delete(org);
}

async function removeKeys({ keys }: OrgSweepDeps, org: string): Promise<void> {
  await eachOf(await keys.keys.keys(`${org}.>`), (key) => keys.keys.delete(key));
}

/** Does the work for each item, also after a failure. @throws AggregateError */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const failures = await failuresOf(items, work);
  if (failures.length > 0) throw new AggregateError(failures);
}

async function failuresOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  return failures;
}

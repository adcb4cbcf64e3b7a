// Deletes expired files, and completes the work of a control that died: uploads that never completed, marked files
// that still exist, and content without a record. Any number of instances may run the sweep: each step is idempotent
// or a compare-and-set. Entries younger than the grace period are skipped: another process may still work on them.
import { ORPHAN_GRACE_MS } from '@switchyard/bus';
import { type FileRecord, fileKey } from '@switchyard/contracts';
import { clearAway, finishLeaving, markDeleting } from './deletion.ts';
import type { FileOperations } from './file-operations.ts';

export async function sweepFiles(deps: FileOperations, graceMs: number = ORPHAN_GRACE_MS): Promise<void> {
  const isOld = (at: string | Date) => deps.clock.now() - new Date(at).getTime() >= graceMs;
  for (const org of await deps.quota.orgs()) await settleOrg(deps, org, isOld);
  await finishDeletions(deps, isOld);
  await removeUnnamed(deps, isOld);
  await deps.contents.sweep(graceMs);
}

type IsOld = (at: string | Date) => boolean;

async function settleOrg(deps: FileOperations, org: string, isOld: IsOld): Promise<void> {
  const { arriving, leaving } = await deps.quota.usage(org);
  for (const [id] of Object.entries(arriving).filter(([, { at }]) => isOld(at))) {
    const record = (await deps.files.get(fileKey(org, id)))?.value;
    if (record) {
      await deps.quota.arrived(org, id, record.bytes);
      continue;
    }
    deps.logger.warn({ org, file: id }, 'an incomplete upload is removed');
    await deps.contents.delete(fileKey(org, id));
    await deps.quota.release(org, id);
  }
  for (const [id] of Object.entries(leaving).filter(([, { at }]) => isOld(at)))
    await finishLeaving(deps, org, id);
}

/**
 * Expired files, and marked files whose deleter died before they counted as leaving. Marking, or marking again, claims
 * them for this sweep.
 */
async function finishDeletions(deps: FileOperations, isOld: IsOld): Promise<void> {
  const marked = (await deps.files.entries()).filter(
    ({ value }) => isLeft(value, isOld) || isExpired(value, deps),
  );
  for (const { value: record, revision } of marked) {
    const { leaving } = await deps.quota.usage(record.org);
    if (Object.hasOwn(leaving, record.id)) continue;
    if (await markDeleting(deps, record, revision)) await clearAway(deps, record);
  }
}

function isLeft({ deleting_at }: FileRecord, isOld: IsOld): boolean {
  return deleting_at !== undefined && isOld(deleting_at);
}

function isExpired({ deleting_at, expires_at }: FileRecord, { clock }: FileOperations): boolean {
  return deleting_at === undefined && expires_at !== undefined && Date.parse(expires_at) <= clock.now();
}

/** Complete contents that have no record and no upload that is about to create one. */
async function removeUnnamed(deps: FileOperations, isOld: IsOld): Promise<void> {
  // Contents are listed before records, so that content stored after this list is skipped.
  const stored = await deps.contents.ids();
  const named = new Set(await deps.files.keys());
  for (const key of stored.filter((one) => !named.has(one))) {
    const info = await deps.contents.info(key);
    const [org = '', id = ''] = key.split('.');
    if (!info || !isOld(info.storedAt) || Object.hasOwn((await deps.quota.usage(org)).arriving, id)) continue;
    deps.logger.warn({ file: key }, 'content that no record names was removed');
    await deps.contents.delete(key);
  }
}

// Finishes what a control that died left half done: uploads that count and never came, files marked as deleted that are
// still there, contents that no record names. Any number of instances may do it at once: each step is a compare-and-set or
// may be repeated. What is younger than the grace may still be somebody's work.
import { ORPHAN_GRACE_MS } from '@switchyard/bus';
import { type FileRecord, fileKey } from '@switchyard/contracts';
import { type Repeating, repeat } from '@switchyard/service';
import { clearAway, finishLeaving, markDeleting } from './deletion.ts';
import type { FileOperations } from './file-operations.ts';

export const FILES_SWEEP_MS = 5 * 60_000;

/** Sweeps every FILES_SWEEP_MS from now on. */
export function keepSweepingFiles(on: FileOperations): Repeating {
  const failed = 'the sweep of files failed';
  return repeat({ everyMs: FILES_SWEEP_MS, clock: on.clock, logger: on.logger, failed }, () =>
    sweepFiles(on),
  );
}

export async function sweepFiles(on: FileOperations, graceMs: number = ORPHAN_GRACE_MS): Promise<void> {
  const isOld = (at: string | Date) => on.clock.now() - new Date(at).getTime() >= graceMs;
  for (const org of await on.quota.orgs()) await settleOrg(on, org, isOld);
  await finishDeletions(on, isOld);
  await removeUnnamed(on, isOld);
  await on.contents.sweep(graceMs);
}

type IsOld = (at: string | Date) => boolean;

async function settleOrg(on: FileOperations, org: string, isOld: IsOld): Promise<void> {
  const { arriving, leaving } = await on.quota.usage(org);
  for (const [id] of Object.entries(arriving).filter(([, { at }]) => isOld(at))) {
    const record = (await on.files.get(fileKey(org, id)))?.value;
    if (record) {
      await on.quota.arrived(org, id, record.bytes);
      continue;
    }
    on.logger.warn({ org, file: id }, 'an upload never came to its end, and is taken back');
    await on.contents.delete(fileKey(org, id));
    await on.quota.release(org, id);
  }
  for (const [id] of Object.entries(leaving).filter(([, { at }]) => isOld(at)))
    await finishLeaving(on, org, id);
}

/** Marked, and whoever did it died before it counted as leaving. Marking it anew makes it ours alone. */
async function finishDeletions(on: FileOperations, isOld: IsOld): Promise<void> {
  const marked = (await on.files.entries()).filter(({ value }) => isLeft(value, isOld));
  for (const { value: record, revision } of marked) {
    const { leaving } = await on.quota.usage(record.org);
    if (Object.hasOwn(leaving, record.id)) continue;
    if (await markDeleting(on, record, revision)) await clearAway(on, record);
  }
}

function isLeft({ deleting_at }: FileRecord, isOld: IsOld): boolean {
  return deleting_at !== undefined && isOld(deleting_at);
}

/** Whole contents whose record was never made, and that nobody is about to make. */
async function removeUnnamed(on: FileOperations, isOld: IsOld): Promise<void> {
  // In this order: what is stored after the first list is not looked at.
  const stored = await on.contents.ids();
  const named = new Set(await on.files.keys());
  for (const key of stored.filter((one) => !named.has(one))) {
    const info = await on.contents.info(key);
    const [org = '', id = ''] = key.split('.');
    if (!info || !isOld(info.storedAt) || Object.hasOwn((await on.quota.usage(org)).arriving, id)) continue;
    on.logger.warn({ file: key }, 'content that no record names was removed');
    await on.contents.delete(key);
  }
}

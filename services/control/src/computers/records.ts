// Reading and changing computers' records from control's side: it makes them, and may mark one `deleting`.
import { type Bucket, type Entry, RevisionConflict } from '@switchyard/bus';
import { type ComputerRecord, computerKey, ID_PATTERN, isShown, ServiceError } from '@switchyard/contracts';

const CONFLICTS_MAX = 10;

/** @throws ServiceError `computer_not_found`: never was, was deleted, or is another org's. */
export async function findComputer(
  computers: Bucket<ComputerRecord>,
  org: string,
  id: string,
): Promise<Entry<ComputerRecord>> {
  // What is no id cannot be a key of the bucket either, and may stand for several of them.
  const entry = ID_PATTERN.test(id) ? await computers.get(computerKey(org, id)) : null;
  if (!entry || !isShown(entry.value)) throw new ServiceError('computer_not_found', 'no computer of this id');
  return entry;
}

/**
 * Marks the record `deleting`: its agent will clear away what there is of the computer, now or when it is back.
 * @param settle what else to change, by the record as it is; called before each try
 * @returns the record as it was, or null where there was none any more
 */
export async function markDeleting(
  computers: Bucket<ComputerRecord>,
  key: string,
  settle: (record: ComputerRecord) => Promise<Partial<ComputerRecord>>,
): Promise<ComputerRecord | null> {
  for (let attempt = 0; attempt < CONFLICTS_MAX; attempt++) {
    const entry = await computers.get(key);
    if (!entry || entry.value.state === 'deleting') return null;
    const change = await settle(entry.value);
    try {
      await computers.update(
        key,
        { ...entry.value, ...change, state: 'deleting', run: null },
        entry.revision,
      );
      return entry.value;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new ServiceError('computer_busy', 'the computer is in the middle of another change');
}

// Reads and changes computer records. Control creates records and may mark them `deleting`; agents do the rest.
import type { Bucket, Entry } from '@switchyard/bus';
import { type ComputerRecord, computerKey, ID_PATTERN, isShown, ServiceError } from '@switchyard/contracts';

/** @throws ServiceError `computer_not_found`: unknown, deleted, or owned by another org. */
export async function findComputer(
  computers: Bucket<ComputerRecord>,
  org: string,
  id: string,
): Promise<Entry<ComputerRecord>> {
  // An invalid id cannot be a bucket key, and could act as a wildcard.
  const entry = ID_PATTERN.test(id) ? await computers.get(computerKey(org, id)) : null;
  if (!entry || !isShown(entry.value))
    throw new ServiceError(
      'computer_not_found',
      'Computer not found. GET /v1/computers lists your computers.',
    );
  return entry;
}

/**
 * Marks the record `deleting`. The agent removes what exists of the computer, now or when it reconnects.
 * @param settle returns further changes to the current record; called before each attempt
 * @returns the record before the change, or null when it no longer exists
 */
export async function markDeleting(
  computers: Bucket<ComputerRecord>,
  key: string,
  settle: (record: ComputerRecord) => Promise<Partial<ComputerRecord>>,
): Promise<ComputerRecord | null> {
  let before: ComputerRecord | null = null;
  await computers.change(key, async (entry) => {
    before = entry && entry.value.state !== 'deleting' ? entry.value : null;
    return before && { ...before, ...(await settle(before)), state: 'deleting', run: null };
  });
  return before;
}

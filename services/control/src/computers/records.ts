// Reads and changes computer records. Control creates records and may mark them `deleting`; agents do the rest.
import { type ComputerRecord, isShown, recordKey, ServiceError } from '@switchyard/contracts';
import type { PlacedRecords } from './placed-records.ts';

/** @throws ServiceError `computer_not_found`: unknown, deleted, or owned by another org. */
export async function findComputer(records: PlacedRecords, org: string, id: string): Promise<ComputerRecord> {
  const record = await records.find(org, id);
  if (!record || !isShown(record))
    throw new ServiceError(
      'computer_not_found',
      'Computer not found. GET /v1/computers lists your computers.',
    );
  return record;
}

/**
 * Marks the record `deleting`. The agent removes what exists of the computer, now or when it reconnects.
 * @param settle returns further changes to the current record; called before each attempt
 * @returns the record before the change, or null when it no longer exists
 */
export async function markDeleting(
  { computers }: Pick<PlacedRecords, 'computers'>,
  computer: Pick<ComputerRecord, 'host' | 'org' | 'id'>,
  settle: (record: ComputerRecord) => Promise<Partial<ComputerRecord>>,
): Promise<ComputerRecord | null> {
  let before: ComputerRecord | null = null;
  await computers.change(recordKey(computer), async (entry) => {
    before = entry && entry.value.state !== 'deleting' ? entry.value : null;
    return before && { ...before, ...(await settle(before)), state: 'deleting', run: null };
  });
  return before;
}

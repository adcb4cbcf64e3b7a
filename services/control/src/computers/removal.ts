// Removes a computer: by its host, or without it when the host is lost.
import { requestHost } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { ComputerOperations } from './computer-operations.ts';
import { deleteLostComputer } from './lost-host.ts';
import { findComputer } from './records.ts';

/** Covers ending the processes of the computer and removing its files. */
const DELETE_TIMEOUT_MS = 120_000;

/** Removes a computer and its files permanently, and frees its slot. Works even if computers are switched off. */
export async function removeComputer(
  deps: ComputerOperations,
  { org, id }: { org: string; id: string },
): Promise<void> {
  const record = await findComputer(deps.records, org, id);
  if (deps.hosts.isSilent(record.host)) await deleteLostComputer(deps, record);
  else await askHost(deps, record.host, { org, id });
  await deps.slots.free(org, [id]);
}

async function askHost(
  { bus }: ComputerOperations,
  host: string,
  computer: { org: string; id: string },
): Promise<void> {
  try {
    await requestHost(bus, host, 'delete', computer, { timeoutMs: DELETE_TIMEOUT_MS });
  } catch (error) {
    // Another call deleted the computer after the record was read; the result is the same.
    if (error instanceof ServiceError && error.code === 'computer_not_found') return;
    throw error;
  }
}

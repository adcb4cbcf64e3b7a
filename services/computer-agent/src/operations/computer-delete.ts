// Removes a computer, its files and its record. Control frees its place under the org's cap.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';

export async function deleteComputer(
  { computers }: { computers: Computers },
  { org, id }: HostOperationRequest<'delete'>,
): Promise<HostOperationResponse<'delete'>> {
  const computer = await computers.find(org, id);
  await computer.delete();
  return { id, object: 'computer', deleted: true };
}

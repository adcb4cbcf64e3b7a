// The commands of a computer that run, and those whose result is kept.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';

export async function listExecs(
  { computers }: { computers: Computers },
  { org, id }: HostOperationRequest<'exec-list'>,
): Promise<HostOperationResponse<'exec-list'>> {
  const computer = await computers.find(org, id);
  return computer.execs();
}

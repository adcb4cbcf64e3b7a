// A command that nobody waits for: whether it runs, and its result if that is kept.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';

export async function getExec(
  { computers }: { computers: Computers },
  { org, id, exec_id }: HostOperationRequest<'exec-get'>,
): Promise<HostOperationResponse<'exec-get'>> {
  const computer = await computers.find(org, id);
  return computer.execResult(exec_id);
}

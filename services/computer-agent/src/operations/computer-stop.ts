// Stops a running computer and keeps its files; a stopped one is answered as it is.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';
import type { ShowComputer } from './show-computer.ts';

export async function stopComputer(
  { computers, show }: { computers: Computers; show: ShowComputer },
  { org, id }: HostOperationRequest<'stop'>,
): Promise<HostOperationResponse<'stop'>> {
  const computer = await computers.find(org, id);
  return show(await computer.stop('user'));
}

// Starts a stopped computer with its files; a running one is answered as it is.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';
import type { ShowComputer } from './show-computer.ts';

export async function startComputer(
  { computers, show }: { computers: Computers; show: ShowComputer },
  { org, id, limited }: HostOperationRequest<'start'>,
): Promise<HostOperationResponse<'start'>> {
  const computer = await computers.find(org, id);
  return show(await computer.start(limited));
}

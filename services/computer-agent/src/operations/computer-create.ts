// The first start of a computer that control has placed here.
import type { OperationContext } from '@switchyard/bus';
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';
import type { ShowComputer } from './show-computer.ts';

export async function createComputer(
  { computers, show }: { computers: Computers; show: ShowComputer },
  request: HostOperationRequest<'create'>,
  { signal }: Pick<OperationContext, 'signal'>,
): Promise<HostOperationResponse<'create'>> {
  const computer = await computers.findNew(request);
  return show(await computer.create(request.limited, signal));
}

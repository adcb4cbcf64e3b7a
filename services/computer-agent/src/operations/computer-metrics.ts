// What a running computer uses at this moment.
import type { HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';

export async function measureComputer(
  { computers }: { computers: Computers },
  { org, id }: HostOperationRequest<'metrics'>,
): Promise<HostOperationResponse<'metrics'>> {
  const computer = await computers.find(org, id);
  return { object: 'computer_metrics', ...(await computer.metrics()) };
}

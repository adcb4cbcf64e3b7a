// Runs a command in a running computer and waits for its end. The caller's going away stops it, unless it is to continue.
import { randomUUID } from 'node:crypto';
import type { OperationContext } from '@switchyard/bus';
import type { ComputerLimits, HostOperationRequest, HostOperationResponse } from '@switchyard/contracts';
import { checkCommand } from '../lifecycle/command.ts';
import type { Computers } from '../lifecycle/computers.ts';

export async function execInComputer(
  { computers, limits }: { computers: Computers; limits: ComputerLimits },
  { org, id, body, resume }: HostOperationRequest<'exec'>,
  { signal, requestId }: OperationContext,
): Promise<HostOperationResponse<'exec'>> {
  checkCommand(body, limits.commandTimeoutS);
  const computer = await computers.find(org, id);
  return computer.exec(requestId ?? randomUUID(), body, signal, { resume });
}

import type { ComputerObject, OperationRequest } from '@switchyard/contracts';
import { type ComputerOperations, requireComputers, showComputer } from '../computers/computer-operations.ts';
import { findComputer } from '../computers/records.ts';

/** One computer as its record has it. Asking is no activity of the computer's. */
export function getComputer(on: ComputerOperations) {
  return async ({ org, id }: OperationRequest<'computers.get'>): Promise<ComputerObject> => {
    requireComputers(on);
    return showComputer(on, (await findComputer(on.computers, org, id)).value);
  };
}

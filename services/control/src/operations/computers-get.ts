import type { ComputerObject, OperationRequest } from '@switchyard/contracts';
import { type ComputerOperations, requireComputers, showComputer } from '../computers/computer-operations.ts';
import { findComputer } from '../computers/records.ts';

/** Shows one computer from its record. The request does not count as activity of the computer. */
export function getComputer(on: ComputerOperations) {
  return async ({ org, id }: OperationRequest<'computers.get'>): Promise<ComputerObject> => {
    requireComputers(on);
    return showComputer(on, (await findComputer(on.records, org, id)).value);
  };
}

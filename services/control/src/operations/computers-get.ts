import type { ComputerObject, OperationRequest } from '@switchyard/contracts';
import { type ComputerOperations, requireComputers, showComputer } from '../computers/computer-operations.ts';
import { findComputer } from '../computers/records.ts';

/** Shows one computer from its record. The request does not count as activity of the computer. */
export function getComputer(deps: ComputerOperations) {
  return async ({ org, id }: OperationRequest<'computers.get'>): Promise<ComputerObject> => {
    requireComputers(deps);
    return showComputer(deps, (await findComputer(deps.records, org, id)).value);
  };
}

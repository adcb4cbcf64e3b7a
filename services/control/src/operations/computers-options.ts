import { type ComputerOptions, type OperationRequest, toComputerOptions } from '@switchyard/contracts';
import { markUp } from '@switchyard/money';
import { type ComputerOperations, requireComputers } from '../computers/computer-operations.ts';

/** Returns the platform's limits, and the prices of the caller. They may change, so clients read them here. */
export function computerOptions(deps: ComputerOperations) {
  return async ({ markup_percent }: OperationRequest<'computers.options'>): Promise<ComputerOptions> => {
    requireComputers(deps);
    return toComputerOptions({ ...deps.limits, rates: markUp(deps.limits.rates, markup_percent) });
  };
}

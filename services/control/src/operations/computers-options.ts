import { type ComputerOptions, toComputerOptions } from '@switchyard/contracts';
import { type ComputerOperations, requireComputers } from '../computers/computer-operations.ts';

/** Returns the platform's limits and prices. They may change, so clients read them here. */
export function computerOptions(on: ComputerOperations) {
  return async (): Promise<ComputerOptions> => {
    requireComputers(on);
    return toComputerOptions(on.limits);
  };
}

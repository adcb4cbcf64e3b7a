import { type ComputerOptions, toComputerOptions } from '@switchyard/contracts';
import { type ComputerOperations, requireComputers } from '../computers/computer-operations.ts';

/** The platform's limits and prices, which clients read here because they may change. */
export function computerOptions(on: ComputerOperations) {
  return async (): Promise<ComputerOptions> => {
    requireComputers(on);
    return toComputerOptions(on.limits);
  };
}

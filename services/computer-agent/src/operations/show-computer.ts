// A computer of this host as its owner sees it.
import {
  type ComputerLimits,
  type ComputerObject,
  type ComputerRecord,
  toComputerObject,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';

export type ShowComputer = (record: ComputerRecord) => ComputerObject;

export function showComputers(limits: ComputerLimits): ShowComputer {
  return (record) =>
    toComputerObject(record, {
      limits,
      cost: dollarsToJson(BigInt(record.cost_nano)),
      hostSilent: false,
    });
}

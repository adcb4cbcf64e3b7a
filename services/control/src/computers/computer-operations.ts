// Dependencies that the computer operations share, and the API view of a computer.
import type { Bucket, Bus, EventPublisher } from '@switchyard/bus';
import {
  type ComputerLimits,
  type ComputerMinutes,
  type ComputerObject,
  type ComputerRecord,
  ServiceError,
  toComputerObject,
} from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import type { Clock, Logger } from '@switchyard/service';
import type { Hosts } from './hosts.ts';
import type { PlacedRecords } from './placed-records.ts';
import type { Slots } from './slots.ts';

export interface ComputerOperations {
  readonly bus: Bus;
  readonly records: PlacedRecords;
  readonly minutes: Bucket<ComputerMinutes>;
  readonly slots: Slots;
  readonly hosts: Hosts;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly limits: ComputerLimits;
  /** Why computers are switched off on this installation; null when they are available. */
  readonly offReason: string | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A number from 0 up to, but not including, 1. */
  readonly random: () => number;
}

/** @throws ServiceError `no_capacity` where computers are switched off. */
export function requireComputers({ offReason }: Pick<ComputerOperations, 'offReason'>): void {
  if (offReason !== null) throw new ServiceError('no_capacity', offReason);
}

export function showComputer(
  { hosts, limits }: Pick<ComputerOperations, 'hosts' | 'limits'>,
  record: ComputerRecord,
): ComputerObject {
  return toComputerObject(record, {
    limits,
    cost: dollarsToJson(BigInt(record.cost_nano)),
    hostSilent: hosts.isSilent(record.host),
  });
}

// A computer's record as it is made: before its host has heard of it.
import type { ComputerRecord } from './computers.ts';

/** What whoever makes a record decides; all else begins empty. */
export type NewComputer = Pick<
  ComputerRecord,
  | 'id'
  | 'org'
  | 'key_id'
  | 'host'
  | 'name'
  | 'image'
  | 'cpu'
  | 'memory_mb'
  | 'disk_gb'
  | 'rates'
  | 'created_at'
>;

export function newComputerRecord(computer: NewComputer): ComputerRecord {
  return {
    ...computer,
    state: 'creating',
    stop_reason: null,
    container: null,
    run: null,
    runs: 0,
    minutes: 0,
    cost_nano: '0',
    last_activity_at: null,
    error: null,
    progress: null,
  };
}

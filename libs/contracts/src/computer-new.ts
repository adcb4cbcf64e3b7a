// A computer's record as it is made: before its host has heard of it.
import type { ComputerRecord } from './computer-record.ts';
import type { ComputerSpec } from './computers.ts';

/** The values chosen by the creator of a record; everything else starts empty. */
type NewComputer = ComputerSpec &
  Pick<ComputerRecord, 'id' | 'org' | 'key_id' | 'host' | 'rates' | 'markup_percent' | 'created_at'>;

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

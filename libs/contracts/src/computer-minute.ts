// A computer's minute: the number of minutes of a run, the cost per line, and the event. Pure functions of the record,
// so that the agent and control (for a lost host) publish the same event for the same minute.
import { MEMORY_MB_PER_GB, MINUTE_MS } from './computer-limits.ts';
import type { ComputerPlacement, ComputerRecord, ComputerRun } from './computer-record.ts';
import { type Event, eventIds, makeEvent } from './events.ts';

/** Minutes of a run that are held ahead of the charged ones, if its org or key has a limit. */
export const MINUTES_AHEAD = 10;
/** A computer may begin this many runs at once, and one more in each RUN_EVERY_MS of its life. */
const RUNS_AT_ONCE = 100;
export const RUN_EVERY_MS = 10_000;

/** Whether a computer of this age may have begun this run. If not, the agent refuses it, and control its minutes. */
export function mayBegin(run: number, livedMs: number): boolean {
  return run <= RUNS_AT_ONCE + Math.max(0, livedMs) / RUN_EVERY_MS;
}

/** Minutes that are over after this billable time of a run: each is charged when it ends. */
export function completedMinutes(elapsedMs: number): number {
  return Math.floor(elapsedMs / MINUTE_MS);
}

/** Minutes begun by a run that ends now: all are charged in full, and a run has at least one. */
export function startedMinutes(elapsedMs: number): number {
  return Math.max(1, Math.ceil(elapsedMs / MINUTE_MS));
}

type Priced = Pick<ComputerRecord, 'cpu' | 'memory_mb' | 'disk_gb' | 'rates'>;

interface MinuteLine {
  unit: string;
  quantity: number;
  rate: string;
  per?: number;
}

/** per_minute + cpu × per_vcpu_minute + memory_gb × per_gb_memory_minute + disk_gb × per_gb_disk_minute. */
export function minuteLines({ cpu, memory_mb, disk_gb, rates }: Priced): MinuteLine[] {
  return [
    { unit: 'minute', quantity: 1, rate: rates.per_minute },
    { unit: 'vcpu_minute', quantity: cpu, rate: rates.per_vcpu_minute },
    {
      unit: 'gb_memory_minute',
      quantity: memory_mb,
      rate: rates.per_gb_memory_minute,
      per: MEMORY_MB_PER_GB,
    },
    { unit: 'gb_disk_minute', quantity: disk_gb, rate: rates.per_gb_disk_minute },
  ];
}

interface MinuteToCharge {
  readonly record: ComputerPlacement;
  readonly run: Pick<ComputerRun, 'number'>;
  /** 0 for the first of the run. */
  readonly minute: number;
  /** Nano-dollars of the record's `minuteLines`. */
  readonly costNano: bigint;
  readonly source: string;
  readonly time: Date;
}

export function minuteEvent({
  record,
  run,
  minute,
  costNano,
  source,
  time,
}: MinuteToCharge): Event<'computer.metered'> {
  return makeEvent({
    name: 'computer.metered',
    id: eventIds.minute(record.id, run.number, minute),
    source,
    time,
    markup: record.markup_percent,
    data: {
      computer_id: record.id,
      org: record.org,
      key_id: record.key_id,
      host: record.host,
      run: run.number,
      minute,
      image: record.image,
      cpu: record.cpu,
      memory_mb: record.memory_mb,
      disk_gb: record.disk_gb,
      lines: minuteLines(record),
      cost_nano: String(costNano),
      tags: record.metadata,
    },
  });
}

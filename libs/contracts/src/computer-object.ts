// How a computer's record is shown to its owner: one mapping for control (list, get) and the agents (start, stop).
import { MINUTE_MS, type TimedStops, timedStopsOf } from './computer-limits.ts';
import type { ComputerRecord } from './computer-record.ts';
import type { ComputerObject, ComputerStatus } from './computers.ts';

interface ComputerView {
  /** Of its host. */
  readonly limits: TimedStops;
  /** Dollars of `record.cost_nano`. */
  readonly cost: number;
  /** Its host has been silent for HOST_SILENT_MS_MAX. */
  readonly hostSilent: boolean;
}

/**
 * Hides records whose computer is being created or deleted. Exception: while an image is pulled, which may take
 * minutes, the computer can be watched and deleted.
 */
export function isShown({ state, progress }: ComputerRecord): boolean {
  return state === 'creating' ? progress !== null : state !== 'deleting';
}

export function toComputerObject(record: ComputerRecord, view: ComputerView): ComputerObject {
  const status = view.hostSilent ? 'unreachable' : statusOf(record);
  const running = status === 'running';
  const limits = timedStopsOf(record, view.limits);
  return {
    id: record.id,
    object: 'computer',
    name: record.name,
    status,
    image: record.image,
    cpu: record.cpu,
    memory_mb: record.memory_mb,
    idle_stop_minutes: Math.ceil(limits.idleStopMs / MINUTE_MS),
    metadata: record.metadata ?? {},
    created_at: record.created_at,
    minutes: record.minutes,
    cost: view.cost,
    stop_reason: running ? null : record.stop_reason,
    idle_since: running ? record.last_activity_at : null,
    stops_at: running ? stopsAt(record, limits) : null,
    error: record.error,
    ...(record.state === 'creating' && record.progress ? { progress: record.progress } : {}),
  };
}

function statusOf(record: ComputerRecord): ComputerStatus {
  switch (record.state) {
    case 'running':
    case 'stopping':
      return 'running';
    case 'creating':
    case 'error':
      return record.state;
    case 'starting':
    case 'stopped':
    case 'deleting':
      return 'stopped';
  }
}

/** The end of its lifetime, or of the idle window if no command comes: whichever is sooner. */
function stopsAt(record: ComputerRecord, limits: TimedStops): string | null {
  if (!record.run) return null;
  const lifetimeEnd = Date.parse(record.run.started_at) + limits.maxLifetimeMs;
  const idleEnd =
    record.last_activity_at === null ? Infinity : Date.parse(record.last_activity_at) + limits.idleStopMs;
  return new Date(Math.min(lifetimeEnd, idleEnd)).toISOString();
}

// Events of computers.
import { z } from 'zod';
import { tags } from '../caller-context.ts';
import { computerStatus, stopReason } from '../computers.ts';
import { chargeLine, defineBookedEvent, defineEvent, nanos } from './define-event.ts';

/** One started minute of a running computer. */
const computerMetered = z.object({
  computer_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  host: z.string(),
  run: z.int().positive(),
  /** 0 for the first minute of the run. */
  minute: z.int().nonnegative(),
  image: z.string(),
  cpu: z.number(),
  memory_mb: z.int(),
  disk_gb: z.number(),
  lines: z.array(chargeLine),
  cost_nano: nanos,
  /** The computer's metadata, also in other events. */
  tags: tags.optional(),
});

const computerChanged = z.object({
  computer_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  host: z.string(),
  status: computerStatus,
  run: z.int().nullable(),
  stop_reason: stopReason.nullable(),
  tags: tags.optional(),
});

const computerDeleted = z.object({
  computer_id: z.string(),
  org: z.string(),
  key_id: z.string(),
  host: z.string(),
  tags: tags.optional(),
});

const SHOWS = ['computer_id', 'stop_reason', 'host'] as const;

/** The same fact always has the same id. */
export const computerEventIds = {
  minute: (computerId: string, run: number, minute: number) => `${computerId}:${run}:${minute}`,
  computer: (computerId: string, run: number, change: string) => `${computerId}:${run}:${change}`,
} as const;

export const computerEvents = {
  'computer.created': defineEvent({
    meaning: 'A computer was created and runs.',
    by: 'control',
    data: computerChanged,
    shows: SHOWS,
  }),
  'computer.started': defineEvent({
    meaning: 'A stopped computer was started.',
    by: 'control',
    data: computerChanged,
    shows: SHOWS,
  }),
  'computer.stopped': defineEvent({
    meaning: 'A computer stopped; `stop_reason` says why.',
    by: 'control',
    data: computerChanged,
    shows: SHOWS,
  }),
  'computer.deleted': defineEvent({
    meaning: 'A computer and its files were deleted.',
    by: 'control',
    data: computerDeleted,
    shows: ['computer_id', 'host'],
  }),
  'computer.metered': defineBookedEvent({
    meaning: 'One started minute of a running computer; it carries the charge.',
    by: 'control',
    data: computerMetered,
    shows: ['computer_id', 'run', 'minute', 'cost_nano'],
    booked: {
      id: ({ computer_id, run, minute }) => computerEventIds.minute(computer_id, run, minute),
      kind: 'computer_minute',
      repeats: 'any_time',
    },
  }),
} as const;

const MINUTE_ID = /^(cmp_[A-Za-z0-9_-]{1,100}):\d{1,15}:\d{1,15}$/;

/** The computer of a minute, by the id of the minute's event; null: another id. */
export function computerOfMinute(eventId: string): string | null {
  return MINUTE_ID.exec(eventId)?.[1] ?? null;
}

// The record of a computer in the KV bucket `computers`, its run, and the slots under the cap of its org.
import { z } from 'zod';
import { type ComputerSpec, computerSpec, stopReason } from './computers.ts';
import { creationProgress } from './creation-progress.ts';
import { nanos } from './events/define-event.ts';
import { idOf } from './ids.ts';
import { markup } from './markup.ts';

/** Rates of a computer's minute as decimal strings; frozen in the record at creation and in every event, with the mark-up. */
export const computerRates = z.object({
  per_minute: z.string(),
  per_vcpu_minute: z.string(),
  per_gb_memory_minute: z.string(),
  per_gb_disk_minute: z.string(),
});
export type ComputerRates = z.infer<typeof computerRates>;

/** The current run of a computer: recorded before its container starts, so that no minute can be lost. */
export const computerRun = z.object({
  /** 1 for the first start, then one more each time: part of the ids of the minutes' events. */
  number: z.int().positive(),
  started_at: z.iso.datetime(),
  /** Minutes of this run whose event is published already. */
  minutes_charged: z.int().nonnegative(),
  /** Billable milliseconds of the run up to `anchored_at`: where a restarted agent continues counting. */
  anchored_ms: z.int().nonnegative(),
  anchored_at: z.iso.datetime(),
});
export type ComputerRun = z.infer<typeof computerRun>;

/**
 * `creating`: the slot is taken, the container may be starting; hidden from clients except while its image is pulled.
 * `starting`, `stopping`: the container and its run are recorded, the change is not confirmed yet; a restarted agent
 * reverts the first and finishes the second. `deleting`: container and files are removed; the record goes last.
 */
export const COMPUTER_STATES = [
  'creating',
  'starting',
  'running',
  'stopping',
  'stopped',
  'deleting',
  'error',
] as const;

/**
 * KV bucket `computers`, key `<host>.<org>.<id>`. Control creates it; then the agent of its host is its only writer, except
 * when control declares the host lost. Writes that guard a rule use the revision.
 */
export const computerRecord = z.object({
  id: idOf('computer'),
  org: idOf('org'),
  /** The key that created it: its minutes are charged to this key. */
  key_id: idOf('key'),
  host: idOf('host'),
  ...computerSpec.shape,
  rates: computerRates,
  /** Of the org at the creation; `rates` include it. */
  ...markup.shape,
  created_at: z.iso.datetime(),
  state: z.enum(COMPUTER_STATES),
  stop_reason: stopReason.nullable(),
  /** Docker's id of the container that this computer owns, once it was adopted. */
  container: z.string().nullable(),
  run: computerRun.nullable(),
  /** Runs so far; the next one is one more. */
  runs: z.int().nonnegative(),
  /** Minutes and nano-dollars of all runs whose events are published. */
  minutes: z.int().nonnegative(),
  cost_nano: nanos,
  /** End of the last command, or the start if there was none; null while a command runs or the computer is off. */
  last_activity_at: z.iso.datetime().nullable(),
  error: z.string().nullable(),
  /** Progress of the creation, from the pull of its image on; otherwise null. */
  progress: creationProgress.nullable(),
});
export type ComputerRecord = z.infer<typeof computerRecord>;

/** The values chosen by the creator of a record; everything else starts empty. */
type NewComputer = ComputerSpec &
  Pick<ComputerRecord, 'id' | 'org' | 'key_id' | 'host' | 'rates' | 'markup_percent' | 'created_at'>;

/** A new record, before its host knows of it. */
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

export function recordKey({ host, org, id }: Pick<ComputerRecord, 'host' | 'org' | 'id'>): string {
  return `${host}.${org}.${id}`;
}

/**
 * KV bucket `computer-placements`, key `<org>.<id>`: on which host a computer is, and what its minutes cost. Only control
 * writes it, so it holds what a host may not decide. It outlives the record, for events that arrive late.
 */
export const computerPlacement = computerRecord.pick({
  id: true,
  org: true,
  key_id: true,
  host: true,
  image: true,
  cpu: true,
  memory_mb: true,
  disk_gb: true,
  metadata: true,
  rates: true,
  markup_percent: true,
  created_at: true,
});
export type ComputerPlacement = z.infer<typeof computerPlacement>;

export function placementKey(org: string, id: string): string {
  return `${org}.${id}`;
}

/**
 * KV bucket `computer-minutes`, key `<org>.<id>`: how many minutes control has admitted, of each of the last runs by its
 * number, and of all runs before them. It bounds what a host can charge.
 */
export const computerMinutes = z.object({
  runs: z.record(z.string(), z.int().positive()),
  earlier: z.object({
    runs: z.int().nonnegative(),
    minutes: z.int().nonnegative(),
    /** Number of the last of them. */
    last: z.int().nonnegative(),
  }),
});
export type ComputerMinutes = z.infer<typeof computerMinutes>;

/**
 * KV bucket `computer-slots`, key = org: id of each computer that the org has or is about to have, and since when.
 * Changed by compare-and-set only: it is what makes the cap of computers exact.
 */
export const computerSlots = z.record(z.string(), z.iso.datetime());
export type ComputerSlots = z.infer<typeof computerSlots>;

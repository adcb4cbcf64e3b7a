// How a record is shown to its owner.
import { describe, expect, test } from 'vitest';
import { completedMinutes, minuteLines, startedMinutes } from './computer-minute.ts';
import { isShown, toComputerObject } from './computer-object.ts';
import { COMPUTER_STATES, type ComputerRecord, computerRecord } from './computer-record.ts';
import { computerObject } from './computers.ts';
import { type CreationProgress, NOTHING_TO_PULL } from './creation-progress.ts';

const record: ComputerRecord = {
  id: 'cmp_1',
  org: 'org_1',
  key_id: 'key_1',
  host: 'host_1',
  name: 'n',
  image: 'i',
  cpu: 0.25,
  memory_mb: 768,
  disk_gb: 10,
  rates: {
    per_minute: '0.1',
    per_vcpu_minute: '0.2',
    per_gb_memory_minute: '0.3',
    per_gb_disk_minute: '0.4',
  },
  created_at: '2026-11-21T12:00:00.000Z',
  state: 'running',
  stop_reason: null,
  container: 'c',
  run: {
    number: 1,
    started_at: '2026-11-21T12:00:00.000Z',
    minutes_charged: 0,
    anchored_ms: 0,
    anchored_at: '2026-11-21T12:00:00.000Z',
  },
  runs: 1,
  minutes: 3,
  cost_nano: '1',
  last_activity_at: '2026-11-21T12:01:00.000Z',
  error: null,
  progress: null,
};
const view = { limits: { idleStopMs: 120_000, maxLifetimeMs: 240_000 }, cost: 0.5, hostSilent: false };
const shown = (change: Partial<ComputerRecord>) => toComputerObject({ ...record, ...change }, view);

describe('a record', () => {
  test('shows what the owner may know, and nothing of host, container or key', () => {
    const object = shown({});
    expect(computerObject.strict().parse(object)).toEqual(object);
    expect(computerRecord.parse(record)).toEqual(record);
  });

  test.each([
    ['starting', 'stopped'],
    ['running', 'running'],
    ['stopping', 'running'],
    ['stopped', 'stopped'],
    ['error', 'error'],
  ] as const)('in the state %s shows %s', (state, status) => {
    expect(shown({ state }).status).toBe(status);
  });

  test('that is being created or deleted is hidden', () => {
    const hidden = COMPUTER_STATES.filter((state) => !isShown({ ...record, state }));
    expect(hidden).toEqual(['creating', 'deleting']);
  });

  test('whose image is being pulled is shown with its progress, which is shown in no other state', () => {
    const progress: CreationProgress = { ...NOTHING_TO_PULL, phase: 'pulling', percent: 40 };
    expect(isShown({ ...record, state: 'creating', progress })).toBe(true);
    expect(isShown({ ...record, state: 'deleting', progress })).toBe(false);
    const creating = shown({ state: 'creating', run: null, last_activity_at: null, progress });
    expect(creating).toMatchObject({ status: 'creating', progress, idle_since: null, stops_at: null });
    expect(computerObject.strict().parse(creating)).toEqual(creating);
    expect(shown({ progress })).not.toHaveProperty('progress');
  });

  test('says when it will stop: at the end of the idle window or of its lifetime, whichever is sooner', () => {
    expect(shown({}).stops_at).toBe('2026-11-21T12:03:00.000Z');
    expect(shown({ last_activity_at: '2026-11-21T12:02:30.000Z' }).stops_at).toBe('2026-11-21T12:04:00.000Z');
    expect(shown({ last_activity_at: null })).toMatchObject({
      idle_since: null,
      stops_at: '2026-11-21T12:04:00.000Z',
    });
    expect(shown({ state: 'stopped', run: null, stop_reason: 'idle' })).toMatchObject({
      idle_since: null,
      stops_at: null,
      stop_reason: 'idle',
    });
  });

  test('with its own idle time stops by that; another uses that of its host, in whole minutes', () => {
    expect(shown({ idle_stop_minutes: 1 })).toMatchObject({
      idle_stop_minutes: 1,
      stops_at: '2026-11-21T12:02:00.000Z',
    });
    expect(shown({ idle_stop_minutes: 480 }).stops_at).toBe('2026-11-21T12:04:00.000Z');
    const limits = { ...view.limits, idleStopMs: 90_000 };
    expect(toComputerObject(record, { ...view, limits })).toMatchObject({
      idle_stop_minutes: 2,
      stops_at: '2026-11-21T12:02:30.000Z',
    });
  });

  test('of a silent host is unreachable, in any state', () => {
    expect(toComputerObject(record, { ...view, hostSilent: true })).toMatchObject({
      status: 'unreachable',
      stops_at: null,
    });
  });
});

describe('minutes', () => {
  test.each([
    [0, 0, 1],
    [1, 0, 1],
    [59_999, 0, 1],
    [60_000, 1, 1],
    [60_001, 1, 2],
    [120_000, 2, 2],
  ])('%i ms of a run: %i are over, %i have begun', (elapsed, completed, started) => {
    expect(completedMinutes(elapsed)).toBe(completed);
    expect(startedMinutes(elapsed)).toBe(started);
  });

  test('have a line for each part of the price', () => {
    expect(minuteLines(record)).toEqual([
      { unit: 'minute', quantity: 1, rate: '0.1' },
      { unit: 'vcpu_minute', quantity: 0.25, rate: '0.2' },
      { unit: 'gb_memory_minute', quantity: 768, rate: '0.3', per: 1_024 },
      { unit: 'gb_disk_minute', quantity: 10, rate: '0.4' },
    ]);
  });
});

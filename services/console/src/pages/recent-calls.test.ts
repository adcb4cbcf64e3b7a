import { expect, test } from 'vitest';
import { callOf, ofLastMinute } from './recent-calls.ts';

const NOW = Date.parse('2026-11-20T12:00:00.000Z');
const event = (type: string, timestamp: string, status = 'ok') => ({
  ...{ id: 'req_1', type, timestamp, data: { status } },
});

test('a call counts for a minute after its end, however late its event arrives', () => {
  const ends = ['11:30:00', '11:59:00', '11:59:01', '12:00:30'].map((time) => `2026-11-20T${time}.000Z`);
  const calls = ends.flatMap((end) => callOf(event('call.completed', end), NOW) ?? []);
  expect(ofLastMinute(calls, NOW).map(({ at }) => at)).toEqual([NOW - 59_000, NOW]);
  expect(ofLastMinute(calls, NOW + 60_000)).toEqual([]);
});

test('refused and failed calls count as failed; other events are not calls', () => {
  const failed = (type: string, status?: string) =>
    callOf(event(type, new Date(NOW).toISOString(), status), NOW)?.failed;
  expect(failed('call.completed')).toBe(false);
  expect(failed('call.completed', 'error')).toBe(true);
  expect(failed('call.completed', 'cancelled')).toBe(false);
  expect(failed('call.refused')).toBe(true);
  expect(failed('computer.metered')).toBe(undefined);
});

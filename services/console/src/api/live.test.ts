// Which answers events make stale, and when they are loaded again.
import { afterEach, expect, test, vi } from 'vitest';
import { queries } from './client.ts';
import { BOOKED_MS, pathsShowing, refreshSoon } from './live.ts';

afterEach(() => {
  vi.useRealTimers();
  queries.clear();
});

test.each([
  ['call.completed', {}, ['/v1/usage', '/v1/logs', '/v1/account', '/v1/statements']],
  ['call.refused', { path: '/v1/keys/{id}' }, ['/v1/logs']],
  ['call.refused', { path: '/v1/logs' }, []],
  ['call.refused', { path: '/v1/logs/{request_id}' }, []],
  ['key.created', {}, ['/v1/keys']],
])('%s %o is shown by %o', (type, data, paths) => {
  expect(pathsShowing({ type, data })).toEqual(paths);
});

test('an event shortly before a load is loaded again once it is booked', () => {
  vi.useFakeTimers();
  const isStale = (path: string) => queries.getQueryState([path])?.isInvalidated;
  queries.setQueryData(['/v1/logs'], 'early');
  queries.setQueryData(['/v1/usage'], 'early');
  refreshSoon('/v1/logs');
  vi.advanceTimersByTime(BOOKED_MS - 1);
  refreshSoon('/v1/usage');
  vi.advanceTimersByTime(1);
  expect(['/v1/logs', '/v1/usage'].map(isStale)).toEqual([true, false]);
  vi.advanceTimersByTime(BOOKED_MS);
  expect(isStale('/v1/usage')).toBe(true);
});

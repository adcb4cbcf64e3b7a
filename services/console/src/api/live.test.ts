// Which answers events make stale, and when they are loaded again.
import { type QueryFunctionContext, QueryObserver } from '@tanstack/react-query';
import { afterEach, expect, test, vi } from 'vitest';
import { queries } from './client.ts';
import { BOOKED_MS, followEvents, pathsShowing, refreshSoon } from './live.ts';

const MINUTE_MS = 60_000;
/** More events than answers. */
const EVENT_MS = 500;
const ANSWER_MS = 2_000;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  queries.clear();
});

test.each([
  ['call.completed', {}, ['/v1/usage', '/v1/logs', '/v1/account', '/v1/statements']],
  ['call.refused', { path: '/v1/keys/{id}' }, ['/v1/logs']],
  ['call.refused', { path: '/v1/logs' }, []],
  ['call.refused', { path: '/v1/logs/{request_id}' }, []],
  ['key.created', {}, ['/v1/keys']],
  ['budget.threshold', {}, []],
])('%s %o is shown by %o', (type, data, paths) => {
  expect(pathsShowing({ type, data })).toEqual(paths);
});

test('an event just before a load causes another once it is booked', async () => {
  vi.useFakeTimers();
  const isStale = (path: string) => queries.getQueryState([path])?.isInvalidated;
  queries.setQueryData(['/v1/logs'], 'early');
  queries.setQueryData(['/v1/usage'], 'early');
  refreshSoon('/v1/logs');
  vi.advanceTimersByTime(BOOKED_MS - 1);
  refreshSoon('/v1/usage');
  vi.advanceTimersByTime(1);
  expect(['/v1/logs', '/v1/usage'].map(isStale)).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(BOOKED_MS);
  expect(isStale('/v1/usage')).toBe(true);
});

test('answers slower than the events that change them are shown, and the last one follows the last event', async () => {
  vi.useFakeTimers();
  let asked = 0;
  const queryFn = ({ signal }: QueryFunctionContext) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    asked += 1;
    setTimeout(resolve, ANSWER_MS, asked);
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  };
  const shown = new QueryObserver(queries, { queryKey: ['/v1/usage'], queryFn });
  const leave = shown.subscribe(() => {});
  await vi.advanceTimersByTimeAsync(ANSWER_MS);
  for (let sinceMs = 0; sinceMs < MINUTE_MS; sinceMs += EVENT_MS) {
    refreshSoon('/v1/usage');
    await vi.advanceTimersByTimeAsync(EVENT_MS);
  }
  expect(shown.getCurrentResult().data).toBeGreaterThan(10);
  const askedBefore = asked;
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(asked).toBe(askedBefore + 1);
  expect(shown.getCurrentResult().data).toBe(asked);
  leave();
});

test('an answer that never comes is asked for again, and others are shown', async () => {
  vi.useFakeTimers();
  let asked = 0;
  const queryFn = async () => {
    asked += 1;
    return asked === 2 ? new Promise<number>(() => {}) : asked;
  };
  const shown = new QueryObserver(queries, { queryKey: ['/v1/logs'], queryFn });
  const leave = shown.subscribe(() => {});
  await vi.advanceTimersByTimeAsync(0);
  for (let sinceMs = 0; sinceMs < MINUTE_MS; sinceMs += EVENT_MS) {
    refreshSoon('/v1/logs');
    await vi.advanceTimersByTimeAsync(EVENT_MS);
  }
  await vi.advanceTimersByTimeAsync(MINUTE_MS); // no reload waits for the next test
  expect(shown.getCurrentResult().data).toBeGreaterThan(2);
  leave();
});

test.each([
  ['a minute catches up on its events', MINUTE_MS, '1', false],
  ['a night loads what it shows again instead', 8 * 60 * MINUTE_MS, null, true],
])('a tab that was hidden for %s', async (_name, hiddenMs, resumesAfter, isLoadedAgain) => {
  vi.useFakeTimers();
  const resumed: (string | null)[] = [];
  vi.stubGlobal('fetch', async (_path: string, { headers, signal }: RequestInit) => {
    resumed.push(new Headers(headers).get('last-event-id'));
    const body = new ReadableStream({
      start(events) {
        events.enqueue(new TextEncoder().encode('id: 1\n\n'));
        signal?.addEventListener('abort', () => events.error(signal.reason));
      },
    });
    return new Response(body);
  });
  const tab = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal('document', tab);
  const show = (isShown: boolean) => {
    tab.hidden = !isShown;
    tab.dispatchEvent(new Event('visibilitychange'));
  };
  queries.setQueryData(['/v1/logs'], 'before');
  const stop = followEvents();
  await expect.poll(() => resumed).toEqual([null]);
  show(false);
  await vi.advanceTimersByTimeAsync(hiddenMs);
  show(true);
  await expect.poll(() => resumed).toEqual([null, resumesAfter]);
  await vi.advanceTimersByTimeAsync(0);
  expect(queries.getQueryState(['/v1/logs'])?.isInvalidated).toBe(isLoadedAgain);
  stop();
});

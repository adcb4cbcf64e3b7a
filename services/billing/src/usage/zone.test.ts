import { describe, expect, test, vi } from 'vitest';
import { intervalStarts } from './intervals.ts';
import { namedZone } from './zone.ts';

const starts = (interval: 'minute' | 'hour' | 'day' | 'month', tz: string, from: string, to: string) => {
  const range = [Date.parse(from), Date.parse(to)] as const;
  return intervalStarts(interval, ...range, namedZone(tz, ...range)).map((at) =>
    new Date(at).toISOString().replace(/:00\.000Z$/, 'Z'),
  );
};

describe('days and months of a named zone begin by its wall clock', () => {
  test('in quarters of an hour from UTC', () => {
    expect(starts('day', 'Asia/Kathmandu', '2026-11-19T20:00:00Z', '2026-11-21T20:00:00Z')).toEqual([
      ...['2026-11-19T18:15Z', '2026-11-20T18:15Z', '2026-11-21T18:15Z'],
    ]);
    expect(starts('month', 'Asia/Kathmandu', '2026-11-15T00:00:00Z', '2027-01-01T00:00:00Z')).toEqual([
      ...['2026-10-31T18:15Z', '2026-11-30T18:15Z', '2026-12-31T18:15Z'],
    ]);
  });

  test('a day has 23 hours when the clock goes forward, 25 when it goes back', () => {
    expect(starts('day', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-31T00:00:00Z')).toEqual([
      ...['2026-03-27T23:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z', '2026-03-30T22:00Z'],
    ]);
    expect(starts('day', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-27T00:00:00Z')).toEqual([
      ...['2026-10-24T22:00Z', '2026-10-25T23:00Z', '2026-10-26T23:00Z'],
    ]);
    expect(starts('month', 'America/New_York', '2026-10-20T00:00:00Z', '2026-12-02T00:00:00Z')).toEqual([
      ...['2026-10-01T04:00Z', '2026-11-01T04:00Z', '2026-12-01T05:00Z'],
    ]);
  });

  test('a day without midnight begins at the first moment of its date', () => {
    // Cairo goes from 24:00 on 23 April 2026 to 01:00 on the 24th.
    expect(starts('day', 'Africa/Cairo', '2026-04-23T00:00:00Z', '2026-04-25T00:00:00Z')).toEqual([
      ...['2026-04-22T22:00Z', '2026-04-23T22:00Z', '2026-04-24T21:00Z'],
    ]);
  });

  test('a date that a zone skipped is not a day', () => {
    // Samoa had no 30 December 2011.
    expect(starts('day', 'Pacific/Apia', '2011-12-29T10:00:00Z', '2011-12-31T20:00:00Z')).toEqual([
      ...['2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
    ]);
  });
});

describe('hours of a named zone', () => {
  test('that the clock shows twice count as two', () => {
    expect(starts('hour', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T03:00:00Z')).toEqual([
      ...['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
    ]);
  });

  test('end where the clock is changed by half an hour', () => {
    // Lord Howe goes from 02:00 (+11) back to 01:30 (+10:30) on 5 April 2026 at 15:00 UTC of the 4th.
    expect(starts('hour', 'Australia/Lord_Howe', '2026-04-04T14:00:00Z', '2026-04-04T17:00:00Z')).toEqual([
      ...['2026-04-04T14:00Z', '2026-04-04T15:00Z', '2026-04-04T15:30Z', '2026-04-04T16:30Z'],
    ]);
  });
});

test('a zone with an offset that is not in quarters of an hour is refused, naming tz', () => {
  const range = [Date.parse('1970-01-01T00:00:00Z'), Date.parse('1970-02-01T00:00:00Z')] as const;
  expect(() => namedZone('Africa/Monrovia', ...range)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'tz' }),
  );
});

test('every change of the clock in ten years is found, with about a thousand questions to Intl', () => {
  const asked = vi.spyOn(Intl.DateTimeFormat.prototype as { readonly format: unknown }, 'format', 'get');
  const range = [Date.parse('2020-01-01T00:00:00.007Z'), Date.parse('2029-12-31T00:00:00Z')] as const;
  const { periods } = namedZone('Europe/Berlin', ...range);
  expect(periods).toHaveLength(21);
  expect(new Date(periods[1]?.begins ?? 0).toISOString()).toBe('2020-03-29T01:00:00.000Z');
  expect(asked.mock.calls.length).toBeGreaterThan(700);
  expect(asked.mock.calls.length).toBeLessThan(1_200);
  asked.mockRestore();
});

test('two changes of the clock within a week are found', () => {
  const range = [Date.parse('2000-09-01T00:00:00Z'), Date.parse('2000-12-01T00:00:00Z')] as const;
  expect(namedZone('America/Recife', ...range).periods.map(({ begins }) => begins)).toEqual([
    ...[-Infinity, Date.parse('2000-10-08T03:00:00Z'), Date.parse('2000-10-15T02:00:00Z')],
  ]);
});

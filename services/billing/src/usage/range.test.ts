import { ServiceError } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { SPAN_MS_MAX, usageRange } from './range.ts';
import { segmentsOf } from './segments.ts';

const NOW = Date.parse('2026-11-20T10:07:30.500Z');
const iso = (at: number) => new Date(at).toISOString();

function rangeOf(query: Parameters<typeof usageRange>[0]) {
  const { from, to } = usageRange(query, NOW);
  return [iso(from), iso(to)];
}

describe('a query without from and to', () => {
  test('covers the last 30 days, including the current quarter hour', () => {
    expect(rangeOf({})).toEqual(['2026-10-21T10:15:00.000Z', '2026-11-20T10:15:00.000Z']);
  });

  test.each([
    ['minute', '2026-11-20T09:15:00.000Z'],
    ['hour', '2026-11-19T10:00:00.000Z'],
    ['day', '2026-10-21T00:00:00.000Z'],
    ['month', '2025-11-01T00:00:00.000Z'],
  ] as const)('begins with a whole %s', (interval, from) => {
    expect(rangeOf({ interval })[0]).toBe(from);
  });

  test('includes events of a clock five seconds ahead, also at the end of a quarter', () => {
    const { to } = usageRange({}, Date.parse('2026-11-20T10:14:58.000Z'));
    expect(iso(to)).toBe('2026-11-20T10:30:00.000Z');
  });
});

describe('an invalid query', () => {
  const errorOf = (query: Parameters<typeof usageRange>[0]) => {
    try {
      usageRange(query, NOW);
    } catch (error) {
      if (error instanceof ServiceError) return { code: error.code, param: error.param };
      throw error;
    }
    return null;
  };

  test('is refused naming the field', () => {
    const day = '2026-11-20T00:00:00Z';
    expect(errorOf({ from: day, to: day })).toEqual({ code: 'invalid_request', param: 'from' });
    expect(errorOf({ from: '2027-01-01T00:00:00Z' })).toEqual({ code: 'invalid_request', param: 'from' });
    expect(errorOf({ from: '2026-11-20T00:00:00+05:31' })).toEqual({
      ...{ code: 'invalid_request', param: 'from' },
    });
    expect(errorOf({ from: '1990-01-01T00:00:00Z' })).toEqual({ code: 'invalid_request', param: 'from' });
  });

  test('combines two dimensions: sums are kept for one', () => {
    const key = { code: 'invalid_request', param: 'key' };
    expect(errorOf({ key: 'key_1', model: 'acme/a' })).toEqual(key);
    expect(errorOf({ key: 'key_1', group_by: 'model' })).toEqual(key);
    expect(errorOf({ key: 'key_1', group_by: 'key' })).toBeNull();
  });

  test.each(['minute', 'hour', 'day', 'month'] as const)('by the %s has its longest span', (interval) => {
    const spanning = (ms: number) => ({ interval, from: iso(NOW - ms), to: iso(NOW) });
    expect(errorOf(spanning(SPAN_MS_MAX[interval]))).toBeNull();
    expect(errorOf(spanning(SPAN_MS_MAX[interval] + 1))).toEqual({
      ...{ code: 'invalid_request', param: 'interval' },
    });
  });
});

describe('the parts of a range', () => {
  const partsOf = (query: Parameters<typeof usageRange>[0]) =>
    segmentsOf(usageRange(query, NOW)).map(({ source, from, to }) => [source, iso(from), iso(to)]);

  test('are whole days, quarters beside them, and the ledger at both ends', () => {
    expect(partsOf({ from: '2026-11-17T22:50:00Z', to: '2026-11-20T01:20:00Z' })).toEqual([
      ['ledger', '2026-11-17T22:50:00.000Z', '2026-11-17T23:00:00.000Z'],
      ['hours', '2026-11-17T23:00:00.000Z', '2026-11-18T00:00:00.000Z'],
      ['days', '2026-11-18T00:00:00.000Z', '2026-11-20T00:00:00.000Z'],
      ['hours', '2026-11-20T00:00:00.000Z', '2026-11-20T01:15:00.000Z'],
      ['ledger', '2026-11-20T01:15:00.000Z', '2026-11-20T01:20:00.000Z'],
    ]);
  });

  test('are days of UTC for days of another wall clock, minus the parts in other days', () => {
    const query = {
      from: '2026-11-18T00:00:00+05:45',
      to: '2026-11-20T00:00:00+05:45',
      interval: 'day',
    } as const;
    expect(partsOf(query)).toEqual([
      ['hours', '2026-11-17T18:15:00.000Z', '2026-11-18T00:00:00.000Z'],
      ['days', '2026-11-18T00:00:00.000Z', '2026-11-19T00:00:00.000Z'],
      ['hours', '2026-11-18T18:15:00.000Z', '2026-11-19T00:00:00.000Z'],
      ['hours', '2026-11-19T00:00:00.000Z', '2026-11-19T18:15:00.000Z'],
    ]);
    const [, day, rest] = segmentsOf(usageRange(query, NOW));
    expect([day?.countedAt, rest?.takenFrom].map((at) => iso(at ?? 0))).toEqual([
      '2026-11-18T00:00:00.000Z',
      '2026-11-18T00:00:00.000Z',
    ]);
  });

  test('are hours for a day of UTC that goes on, on another wall clock', () => {
    const query = { from: '2026-11-18T00:00:00Z', to: '2026-11-30T00:00:00Z', tz: 'Europe/Berlin' };
    const segments = segmentsOf(usageRange({ ...query, interval: 'day' }, NOW));
    const today = Date.parse('2026-11-20T00:00:00Z');
    expect(segments.filter(({ source }) => source === 'days').map(({ from }) => from)).toEqual([
      Date.parse('2026-11-18T00:00:00Z'),
      Date.parse('2026-11-19T00:00:00Z'),
    ]);
    const ongoing = segments.filter(({ from }) => from >= today);
    expect(ongoing.every(({ source, takenFrom }) => source === 'hours' && takenFrom === undefined)).toBe(
      true,
    );
  });

  test('are days inside the months of another wall clock, and quarters around their ends', () => {
    const query = { from: '2026-09-30T22:00:00Z', to: '2026-11-30T23:00:00Z', tz: 'Europe/Berlin' };
    expect(partsOf({ ...query, interval: 'month' })).toEqual([
      ['hours', '2026-09-30T22:00:00.000Z', '2026-10-01T00:00:00.000Z'],
      ['days', '2026-10-01T00:00:00.000Z', '2026-10-31T00:00:00.000Z'],
      ['hours', '2026-10-31T00:00:00.000Z', '2026-10-31T23:00:00.000Z'],
      ['hours', '2026-10-31T23:00:00.000Z', '2026-11-01T00:00:00.000Z'],
      ['days', '2026-11-01T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
      ['hours', '2026-11-30T00:00:00.000Z', '2026-11-30T23:00:00.000Z'],
    ]);
  });

  test('are the ledger alone for minutes, and for less than a quarter hour', () => {
    const range = { from: '2026-11-20T10:01:00Z', to: '2026-11-20T10:14:00Z' };
    expect(partsOf(range)).toEqual([['ledger', '2026-11-20T10:01:00.000Z', '2026-11-20T10:14:00.000Z']]);
    expect(partsOf({ from: '2026-11-19T10:00:00Z', to: '2026-11-20T10:00:00Z', interval: 'minute' })).toEqual(
      [['ledger', '2026-11-19T10:00:00.000Z', '2026-11-20T10:00:00.000Z']],
    );
  });
});

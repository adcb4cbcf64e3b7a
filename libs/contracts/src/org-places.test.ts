// The place of an org decides which partition keeps its budget: another hash would give an org two. So it is pinned.
import { expect, test } from 'vitest';
import { newId } from './ids.ts';
import { operationPattern, operationSubject } from './operations.ts';
import { PARTITION_COUNTS, PLACES, partitionOf, placeOf, placesPattern, placeTokens } from './org-places.ts';

test('the places of these orgs never change', () => {
  const places = { org_default: 5, org_a: 12, org_b: 5, org_ä: 13, '': 9 };
  for (const [org, place] of Object.entries(places)) expect(placeOf(org), org).toBe(place);
});

test('orgs are spread evenly over the places', () => {
  const perPlace = 500;
  const counts = new Array(PLACES).fill(0);
  for (let i = 0; i < PLACES * perPlace; i += 1) counts[placeOf(newId('org'))] += 1;
  for (const count of counts) expect(Math.abs(count - perPlace)).toBeLessThan(perPlace / 4);
});

/** As nats-server matches. */
function matches(pattern: string, subject: string): boolean {
  if (!pattern.endsWith('>')) return pattern === subject;
  return subject.startsWith(pattern.slice(0, -1)) && subject.length >= pattern.length;
}

test.each(PARTITION_COUNTS)(
  'of %i partitions exactly one serves a place: the one that owns it',
  (partitions) => {
    for (let place = 0; place < PLACES; place += 1) {
      const serving = Array.from({ length: partitions }, (_, i) => i).filter((partition) =>
        matches(placesPattern(partition, partitions), placeTokens(place)),
      );
      expect(serving).toEqual([partitionOf(place, partitions)]);
    }
  },
);

test('an operation on money goes to the place of its org, others to one subject', () => {
  const caller = { org: 'org_default', key_id: 'key_1' };
  const place = placeTokens(placeOf('org_default'));
  expect(operationSubject('account.get', caller)).toBe(`billing.v1.account.get.${place}`);
  expect(operationSubject('holds.renew', { place: 5, holds: [] })).toBe('billing.v1.holds.renew.1.0.1.0');
  expect(operationSubject('keys.list', { ...caller, query: {} })).toBe('control.v1.keys.list');
  expect(operationPattern('account.get')).toBe('billing.v1.account.get.>');
  expect(operationPattern('account.get', placesPattern(1, 4))).toBe('billing.v1.account.get.1.0.>');
  expect(operationPattern('keys.list')).toBe('control.v1.keys.list');
});

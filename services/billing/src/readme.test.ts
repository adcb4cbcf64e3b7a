// The README lists what billing serves and owns; this compares them with the code.
import { readFileSync } from 'node:fs';
import { OPERATIONS, USAGE_GROUPS } from '@switchyard/contracts';
import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { CATCH_UP_MS_MAX } from './catch-up.ts';
import { ONLY_PARTITION } from './partitions/partition.ts';
import { ANSWER_MS_MAX } from './store/answered.ts';
import { FAMILIES } from './store/documents.ts';
import { INDEXES } from './store/indexes.ts';
import { openStore } from './store/store.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

test('every operation, collection, index and family of billing is in the README', () => {
  const served = Object.entries(OPERATIONS).filter(([, { service }]) => service === 'billing');
  const { aggregates, ...others } = openStore(new MongoClient('mongodb://unused').db('switchyard'));
  const collections = [...Object.values(others), ...Object.values(aggregates)].map((c) => c.collectionName);
  const names = [
    ...served.map(([name]) => `billing.v1.${name}`),
    ...collections,
    ...Object.values(INDEXES).flatMap((indexes) => indexes.map(({ name }) => name)),
    ...[...FAMILIES, ONLY_PARTITION.consumer, ONLY_PARTITION.lease],
  ];
  expect(names.filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
  expect(readme).toContain(`at most ${CATCH_UP_MS_MAX / 1_000} s`);
  expect(readme).toContain(`for ${ANSWER_MS_MAX / 1_000} s is given up`);
});

test('there is a family for each grouping', () => {
  expect([...FAMILIES]).toEqual(['total', ...USAGE_GROUPS]);
});

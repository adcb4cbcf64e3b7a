// Checks that docs/money.md explains every kind of drift.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DRIFTS } from './drift.ts';

test('every kind of drift is explained', () => {
  const text = readFileSync(new URL('../../../../docs/money.md', import.meta.url), 'utf8');
  const rows = text
    .slice(text.indexOf('## What a drift means'))
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const explained = rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, kind]) => kind),
  );
  expect(explained.sort()).toEqual(Object.keys(DRIFTS).sort());
});

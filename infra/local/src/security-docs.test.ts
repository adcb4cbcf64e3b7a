import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './config.ts';

test('every test that docs/security.md names exists', () => {
  const text = readFileSync(join(ROOT, 'docs', 'security.md'), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(20);
  for (const path of named) expect(existsSync(join(ROOT, path)), path).toBe(true);
});

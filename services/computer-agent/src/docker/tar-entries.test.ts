import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { entryCounter } from './tar-entries.ts';

const FILES = 40;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'switchyard-tar-'));
  for (let i = 0; i < FILES; i += 1) writeFileSync(join(folder, `${i}`), randomBytes(i * 100));
  writeFileSync(join(folder, 'zeros'), Buffer.alloc(10_000));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const archive = (format: string) => execFileSync('tar', ['-c', `--format=${format}`, '-C', folder, '.']);

test.each(['v7', 'ustar', 'gnu'])('counts each file and folder of an archive of format %s', (format) => {
  expect(entryCounter()(archive(format))).toBe(FILES + 2);
});

test('counts the same, however the archive is cut into pieces', () => {
  const whole = archive('ustar');
  for (const size of [1, 511, 513, 10_000]) {
    const entriesIn = entryCounter();
    let entries = 0;
    for (let at = 0; at < whole.length; at += size) entries += entriesIn(whole.subarray(at, at + size));
    expect(entries).toBe(FILES + 2);
  }
});

test('counts headers that hide in the content of a file with a false size', () => {
  const inner = archive('v7');
  const outer = Buffer.concat([inner.subarray(0, 512), inner]);
  expect(entryCounter()(outer)).toBe(1 + FILES + 2);
});

import { readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { openProcessLog, readTrouble } from './process-log.ts';

test('warnings and errors of services and of nats-server are shown as text; the rest is not', () => {
  expect(readTrouble('{"level":"info","msg":"ready"}')).toBeUndefined();
  expect(readTrouble('{"level":"warn","msg":"slow","err":{"message":"timeout"}}')).toBe(
    'warning: slow: timeout',
  );
  expect(readTrouble('{"level":"error","msg":"same","err":{"message":"same"}}')).toBe('error: same');
  expect(readTrouble('[12] 2026/11/21 02:20:42.123456 [INF] Server is ready')).toBeUndefined();
  expect(readTrouble('[12] 2026/11/21 02:20:42.123456 [ERR] no space left')).toBe('error: no space left');
  expect(readTrouble('{ not json')).toBeUndefined();
});

test('every line is in the file; the terminal shows the first few of a burst', async () => {
  const file = join(await temporaryFolder(), 'logs', 'edge.log');
  const shown: string[] = [];
  const log = openProcessLog(file, (text) => shown.push(text));
  const output = new PassThrough();
  log.attach(output);
  const lines = Array.from({ length: 100 }, (_, index) => `{"level":"error","msg":"storm ${index}"}`);
  output.end(`${lines.join('\n')}\n`);
  await expect.poll(() => readFile(file, 'utf8')).toBe(`${lines.join('\n')}\n`);
  expect(shown).toHaveLength(6);
  expect(shown.at(-1)).toContain(file);
  expect(log.tail().at(-1)).toBe(lines.at(-1));
});

test('a deleted file is created again when the log reaches its maximum size', async () => {
  const file = join(await temporaryFolder(), 'edge.log');
  const almostFull = 64 * 1024 * 1024 - 'one\nno'.length;
  await writeFile(file, '');
  await truncate(file, almostFull);
  const log = openProcessLog(file, () => {});
  const output = new PassThrough();
  log.attach(output);
  output.write('one\n');
  await expect.poll(async () => (await stat(file)).size).toBe(almostFull + 'one\n'.length);
  await rm(file);
  output.end('two\nthree\n');
  await expect.poll(log.tail).toContain('three');
  await expect.poll(() => readFile(file, 'utf8')).toBe('three\n');
});

test('a full disk costs lines, and nothing else', async () => {
  const file = join(await temporaryFolder(), 'edge.log');
  await symlink('/dev/full', file);
  const log = openProcessLog(file, () => {});
  for (const line of ['one', 'two']) {
    const output = new PassThrough();
    log.attach(output);
    output.end(`${line}\n`);
    await finished(output);
    await expect.poll(log.tail).toContain(line);
  }
});

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptOrphans, ownFile } from './own-file.ts';

const MODULE = new URL('own-file.ts', import.meta.url).href;

describe('files that outlive their process', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'switchyard-own-file-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('stay with a living process, and go to the first process that looks after a kill', async () => {
    const program = `
      const { ownFile } = await import(process.argv[1]);
      const { writeFileSync } = await import('node:fs');
      writeFileSync(ownFile(process.argv[2], 'events').path, 'kept');
      console.log('written');
      setInterval(() => {}, 1_000);`;
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', program, MODULE, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(owner.stdout, 'data');
    expect([...adoptOrphans(folder, 'events')]).toEqual([]);

    owner.kill('SIGKILL');
    await once(owner, 'exit');
    const [orphan, ...others] = adoptOrphans(folder, 'events');
    expect(others).toEqual([]);
    expect(readFileSync(orphan!.path, 'utf8')).toBe('kept');
    expect([...adoptOrphans(folder, 'events')]).toEqual([]);
    orphan!.remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are distinct within one process, and become orphans after release', () => {
    const [first, second] = [ownFile(folder, 'events'), ownFile(folder, 'events')];
    writeFileSync(first.path, '1');
    writeFileSync(second.path, '2');
    expect([...adoptOrphans(folder, 'events')]).toEqual([]);

    first.release();
    const [orphan, ...others] = adoptOrphans(folder, 'events');
    expect(others).toEqual([]);
    expect(readFileSync(orphan!.path, 'utf8')).toBe('1');
    orphan!.remove();
    second.remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are adopted only by processes of the same kind', () => {
    const journal = ownFile(folder, 'calls');
    writeFileSync(journal.path, '');
    journal.release();
    expect([...adoptOrphans(folder, 'events')]).toEqual([]);
    expect([...adoptOrphans(folder, 'calls')]).toHaveLength(1);
  });

  it('get a text whole or not at all, where they may not grow further', async () => {
    const file = join(folder, 'limited');
    const program = `
      const { appendWhole } = await import(process.argv[1]);
      const { openSync } = await import('node:fs');
      const file = openSync(process.argv[2], 'a');
      try { for (;;) appendWhole(file, 'x'.repeat(99) + '\\n'); } catch (error) { console.log(error.code); }
      appendWhole(file, 'short\\n');`;
    const limited = ['ulimit -f 8; exec "$@"', 'bash', process.execPath, '--input-type=module', '--eval'];
    const { stdout } = await promisify(execFile)('bash', ['-c', ...limited, program, MODULE, file]);
    expect(stdout.trim()).toBe('EFBIG');
    const lines = readFileSync(file, 'utf8').split('\n');
    expect(lines.slice(-2)).toEqual(['short', '']);
    expect(lines.slice(0, -2).every((line) => line.length === 99)).toBe(true);
  });
});

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '@switchyard/testing';
import { expect, test } from 'vitest';

test('a caller that dies fails the benchmark, which does not wait for its figures', async () => {
  const program = join(await temporaryFolder('caller'), 'benchmark.mjs');
  // The caller dies of its impossible address. The timer stands for the stack that keeps a benchmark running.
  await writeFile(
    program,
    `import { callsFromProcess } from ${JSON.stringify(join(import.meta.dirname, 'caller-process.ts'))};
    setInterval(() => {}, 60_000);
    await callsFromProcess({ target: { url: 'nowhere', key: 'k', model: 'm' }, perSecond: 1, seconds: 1 });`,
  );
  const benchmark = promisify(execFile)(process.execPath, [program], { timeout: 60_000 });
  await expect(benchmark).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a caller ended without figures'),
  });
});

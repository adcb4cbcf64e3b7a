import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findProgram, processIdentity } from '@switchyard/local';
import { expect, test } from 'vitest';

test.skipIf(findProgram('setpriv', process.env.PATH) === undefined)(
  'a test run that is killed leaves no server behind',
  async () => {
    const program = `
      import { startNats } from ${JSON.stringify(join(import.meta.dirname, 'nats.ts'))};
      const nats = await startNats();
      console.log(nats.pid);
    `;
    const run = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [words] = await once(run.stdout.setEncoding('utf8'), 'data');
    const server = Number(words);
    expect(await processIdentity(server)).toBeDefined();
    run.kill('SIGKILL');
    await once(run, 'exit');
    await expect.poll(() => processIdentity(server)).toBeUndefined();
  },
);

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { ROOT } from './config.ts';
import { runCommand } from './run-command.ts';

const TIMEOUT_MS = 300_000;

test('credentials that are written again name the command by which nats-server reads them', async () => {
  const env = { ...process.env, SWITCHYARD_CREDENTIALS: await temporaryFolder() };
  const program = join(ROOT, 'infra', 'local', 'src', 'credentials.ts');
  const run = async (...words: string[]) =>
    (await runCommand(process.execPath, [program, ...words], { timeoutMs: TIMEOUT_MS, env })).stdout;
  const reload = 'docker compose kill -s HUP nats';
  expect(await run()).not.toContain(reload);
  expect(await run()).toContain(reload);
  expect(await run('renew', 'computer-agent')).toContain(reload);
});

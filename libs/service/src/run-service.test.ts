/** A service as a process, with settings that only its start can find wrong. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startNats, temporaryFolder } from '@switchyard/testing';
import { expect, onTestFinished, test } from 'vitest';

const EDGE = join(import.meta.dirname, '..', '..', '..', 'services', 'edge', 'src', 'main.ts');
/** EX_CONFIG of sysexits.h: supervisors do not start the process again. */
const EXIT_CONFIG = 78;

test('an unreadable authority, an unusable data folder and a taken port end a service as wrong settings', async () => {
  const nats = await startNats();
  onTestFinished(() => nats.stop());
  const folder = await temporaryFolder('settings');
  const file = join(folder, 'file');
  await writeFile(file, '');
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const { port } = taken.address() as { port: number };
  const good = { NATS_URL: nats.url, SWITCHYARD_DATA: folder, PORT: '0' };

  const refused = (said: string) => ({ code: EXIT_CONFIG, said: expect.stringContaining(said) });
  const listen = refused('\n  HOST, PORT, HEALTH_HOST or HEALTH_PORT: listen EADDRINUSE');
  const wrong = [
    { NATS_TLS_CA: join(folder, 'ca.pem') },
    { SWITCHYARD_DATA: file },
    { PORT: String(port) },
    { HEALTH_PORT: String(port) },
  ];
  expect(await Promise.all(wrong.map((settings) => runEdge({ ...good, ...settings })))).toEqual([
    refused('\n  NATS_TLS_CA: ENOENT'),
    refused('\n  SWITCHYARD_DATA: ENOTDIR'),
    listen,
    listen,
  ]);
});

async function runEdge(settings: Record<string, string>): Promise<{ code: number | null; said: string }> {
  const { HEALTH_PORT: _, ...env } = process.env;
  const edge = spawn(process.execPath, [EDGE], {
    env: { ...env, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  edge.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = await once(edge, 'close');
  return { code, said };
}

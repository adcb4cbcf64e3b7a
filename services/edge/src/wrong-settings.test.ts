/** A service as a process, with settings that only its start can find wrong. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT_CONFIG, runServiceToEnd, startNats, temporaryFolder } from '@switchyard/testing';
import { expect, onTestFinished, test } from 'vitest';

const EDGE = join(import.meta.dirname, 'main.ts');
/** Of no machine: RFC 5737 keeps it for documentation. */
const FOREIGN = '192.0.2.1';

test('an unreadable authority, an unusable data folder and a foreign address end a service as wrong settings', async () => {
  const nats = await startNats();
  onTestFinished(() => nats.stop());
  const folder = await temporaryFolder('settings');
  const file = join(folder, 'file');
  await writeFile(file, '');
  const good = { NATS_URL: nats.url, SWITCHYARD_DATA: folder, PORT: '0' };

  const refused = (said: string) => ({ code: EXIT_CONFIG, said: expect.stringContaining(said) });
  const listen = refused('\n  HOST, PORT, HEALTH_HOST or HEALTH_PORT: listen EADDRNOTAVAIL');
  const wrong = [
    { NATS_TLS_CA: join(folder, 'ca.pem') },
    { SWITCHYARD_DATA: file },
    { HEALTH_HOST: FOREIGN, HEALTH_PORT: '0' },
  ];
  expect(await Promise.all(wrong.map((settings) => runServiceToEnd(EDGE, { ...good, ...settings })))).toEqual(
    [refused('\n  NATS_TLS_CA: ENOENT'), refused('\n  SWITCHYARD_DATA: ENOTDIR'), listen],
  );
});

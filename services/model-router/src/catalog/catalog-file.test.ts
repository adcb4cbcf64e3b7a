/** The router as a process, with a catalog file that it cannot use. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT_CONFIG, runServiceToEnd, startNats, temporaryFolder } from '@switchyard/testing';
import { expect, onTestFinished, test } from 'vitest';

const ROUTER = join(import.meta.dirname, '..', 'main.ts');

test('a catalog file that is missing, no YAML or no catalog ends the router as a wrong setting', async () => {
  const nats = await startNats();
  onTestFinished(() => nats.stop());
  const folder = await temporaryFolder('catalogs');
  const file = join(folder, 'acme.yaml');
  const start = () =>
    runServiceToEnd(ROUTER, { NATS_URL: nats.url, SWITCHYARD_DATA: folder, SWITCHYARD_CATALOG: file });
  const refused = (said: string) => ({ code: EXIT_CONFIG, said: expect.stringContaining(said) });
  expect(await start()).toEqual(refused(`model-router: ${file} cannot be read: ENOENT`));
  await writeFile(file, 'models: [');
  expect(await start()).toEqual(refused(`model-router: ${file} cannot be read: unexpected end`));
  await writeFile(file, 'models: [{ id: acme/chat-1, type: language }]');
  expect(await start()).toEqual(refused(`model-router: ${file} is not a valid catalog:\n  models.0.`));
});

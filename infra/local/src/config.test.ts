import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { expect, test } from 'vitest';
import { environment, ROOT, readLauncherConfig } from './config.ts';

test('nothing needs to be set', () => {
  expect(readLauncherConfig({})).toEqual({
    host: '127.0.0.1',
    port: 8080,
    dataFolder: join(ROOT, '.data'),
    key: undefined,
    computers: true,
    scale: {},
    services: undefined,
    natsPort: undefined,
    mongoPort: undefined,
  });
});

test('an empty variable is one that is not set', () => {
  expect(readLauncherConfig({ PORT: '', SWITCHYARD_KEY: '' })).toEqual(readLauncherConfig({}));
});

test('the data folder starts at the top of the repository, unless it is absolute', () => {
  expect(readLauncherConfig({ SWITCHYARD_DATA: 'there' }).dataFolder).toBe(join(ROOT, 'there'));
  expect(readLauncherConfig({ SWITCHYARD_DATA: '/there' }).dataFolder).toBe('/there');
  expect(isAbsolute(ROOT)).toBe(true);
});

test('instances and services are lists', () => {
  const config = readLauncherConfig({
    SWITCHYARD_SCALE: 'model-router=2,control=3',
    SWITCHYARD_SERVICES: 'edge, control',
  });
  expect(config.scale).toEqual({ 'model-router': 2, control: 3 });
  expect(config.services).toEqual(['edge', 'control']);
});

test.each([
  ['PORT', '0'],
  ['PORT', '65536'],
  ['PORT', 'high'],
  ['SWITCHYARD_KEY', 'nineteen-characters'],
  ['SWITCHYARD_PROVIDERS_SECRET', 'shorter than 32 characters'],
  ['SWITCHYARD_COMPUTERS', 'no'],
  ['SWITCHYARD_SCALE', 'control'],
  ['SWITCHYARD_SCALE', 'control=0'],
  ['SWITCHYARD_SCALE', 'control=17'],
  ['SWITCHYARD_NATS_PORT', '-1'],
])('%s=%s is refused by its name', (variable, value) => {
  expect(() => readLauncherConfig({ [variable]: value })).toThrow(`${variable}: `);
});

test('the README lists every setting', async () => {
  const readme = await readFile(join(ROOT, 'infra', 'local', 'README.md'), 'utf8');
  const variables = Object.keys(environment.shape);
  expect(variables.filter((variable) => !readme.includes(`\`${variable}\``))).toEqual([]);
});

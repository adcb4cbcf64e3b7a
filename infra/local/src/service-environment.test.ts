import { expect, test } from 'vitest';
import { serviceEnvironment } from './service-environment.ts';
import { SERVICES } from './services.ts';

const MACHINE = {
  PATH: '/bin',
  HOME: '/root',
  ACME_API_KEY: 'secret of a maker',
  DOCKER_HOST: 'tcp://docker:2375',
  MONGODB_URL: 'mongodb://of-the-environment',
  MONGODB_USER: 'user of the database',
  MONGODB_PASSWORD: 'password of the database',
  NATS_URL: 'nats://of-the-environment',
  SWITCHYARD_OLLAMA_API_KEY: 'secret of Ollama',
  SWITCHYARD_VLLM_API_KEY: 'secret of vLLM',
  SWITCHYARD_URL_SECRET: 'secret of URLs',
  SWITCHYARD_IDLE_STOP_MINUTES: '0.1',
  SWITCHYARD_CATALOG: 'a.yaml,b.yaml',
  SWITCHYARD_SCALE: 'control=2',
  HTTPS_PROXY: 'http://proxy:3128',
  npm_config_registry: 'x',
  PORT: '1',
};
const FACTS = {
  natsUrl: 'nats://127.0.0.1:4222',
  natsUsers: undefined,
  mongoUrl: 'mongodb://127.0.0.1:27017',
  dataFolder: '/data',
  key: 'sy_key',
  providersSecret: 'secret of the data folder',
  host: '127.0.0.1',
  port: 8080,
  noComputers: undefined,
};
const envOf = (name: string, facts = {}) => {
  const service = SERVICES.find((row) => row.name === name)!;
  return serviceEnvironment(service, `${name}-2`, MACHINE, { ...FACTS, ...facts });
};

test('every service gets the bus, the data folder, its name, and the platform limits', () => {
  for (const { name } of SERVICES) {
    expect(envOf(name)).toMatchObject({
      PATH: '/bin',
      HTTPS_PROXY: 'http://proxy:3128',
      NATS_URL: FACTS.natsUrl,
      SWITCHYARD_DATA: '/data',
      SWITCHYARD_INSTANCE: `${name}-2`,
      SWITCHYARD_IDLE_STOP_MINUTES: '0.1',
      SWITCHYARD_CATALOG: 'a.yaml,b.yaml',
      NODE_COMPILE_CACHE: expect.stringMatching(/node_modules\/\.cache\/switchyard$/),
    });
    expect(envOf(name)).not.toHaveProperty('SWITCHYARD_SCALE');
    expect(envOf(name)).not.toHaveProperty('npm_config_registry');
  }
});

test.each([
  ['SWITCHYARD_KEY', 'sy_key', ['control']],
  ['SWITCHYARD_PROVIDERS_SECRET', FACTS.providersSecret, ['control', 'model-router', 'video-worker']],
  ['SWITCHYARD_URL_SECRET', MACHINE.SWITCHYARD_URL_SECRET, ['edge']],
  ['SWITCHYARD_OLLAMA_API_KEY', MACHINE.SWITCHYARD_OLLAMA_API_KEY, ['model-router']],
  ['SWITCHYARD_VLLM_API_KEY', MACHINE.SWITCHYARD_VLLM_API_KEY, ['model-router']],
  ['MONGODB_URL', FACTS.mongoUrl, ['billing']],
  ['MONGODB_USER', MACHINE.MONGODB_USER, ['billing']],
  ['MONGODB_PASSWORD', MACHINE.MONGODB_PASSWORD, ['billing']],
  ['DOCKER_HOST', MACHINE.DOCKER_HOST, ['computer-agent']],
  ['ACME_API_KEY', MACHINE.ACME_API_KEY, ['model-router', 'video-worker']],
  ['PORT', '8080', ['edge']],
  ['HOST', '127.0.0.1', ['edge']],
])('%s is only for those that need it', (variable, value, names) => {
  for (const { name } of SERVICES)
    expect(envOf(name)[variable]).toBe(names.includes(name) ? value : undefined);
});

test('a database that the launcher started gets no user of another one', () => {
  const { MONGODB_URL: _, ...machine } = MACHINE;
  const billing = SERVICES.find(({ name }) => name === 'billing')!;
  const env = serviceEnvironment(billing, 'billing', machine, FACTS);
  expect(env).toMatchObject({ MONGODB_URL: FACTS.mongoUrl });
  expect([env.MONGODB_USER, env.MONGODB_PASSWORD]).toEqual([undefined, undefined]);
});

test('without a Docker engine the services know that there are no computers, and why', () => {
  expect(envOf('control', { noComputers: 'no engine answers' })).toMatchObject({
    SWITCHYARD_COMPUTERS: 'off',
    SWITCHYARD_COMPUTERS_OFF_REASON: 'no engine answers',
  });
  expect(envOf('control')).not.toHaveProperty('SWITCHYARD_COMPUTERS');
});

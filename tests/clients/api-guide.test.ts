// docs/api.md is true: every command in it runs on the full stack, in order, and no endpoint is left out.
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { docker, startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SET_UP_MS_MAX, untilComputers } from '../__fixtures__/first-computer.ts';

const GUIDE = await readFile(resolve(import.meta.dirname, '../../docs/api.md'), 'utf8');
const RUN_TIMEOUT_MS = 280_000;
/** `curl` as a reader calls it, except that an error status fails the command. */
const STRICT_CURL = 'curl() { command curl -sS --fail-with-body "$@"; }';

const withComputers = (await docker()) !== undefined;

interface Section {
  title: string;
  commands: string;
}

/** The shell blocks, each with its heading. */
const sections: Section[] = GUIDE.split(/^#+ /m)
  .slice(1)
  .map((section) => ({
    title: section.slice(0, section.indexOf('\n')),
    commands: [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block).join('\n'),
  }))
  .filter(({ commands }) => commands !== '');
const needsComputers = ({ title }: Section) => title.startsWith('Computers');

let stack: TestStack;
let folder: string;

beforeAll(async () => {
  folder = await temporaryFolder('guide');
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: withComputers ? 'on' : 'off', SWITCHYARD_WARM_POOL: '1' },
  });
  // A host may be prepared a little after the services are ready.
  if (withComputers) await untilComputers(stack);
}, SET_UP_MS_MAX);
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a section's commands in the shell that the sections before it left behind: variables live on in a file. */
function run({ commands }: Section): Promise<{ code: number; said: string }> {
  const state = join(folder, 'variables');
  const script = [
    'set -euo pipefail',
    STRICT_CURL,
    `if [ -f ${state} ]; then . ${state}; fi`,
    commands,
    `declare -p ${variables.join(' ')} 2>/dev/null > ${state} || true`,
  ].join('\n');
  const env = { ...process.env, SWITCHYARD_URL: stack.url, SWITCHYARD_KEY: stack.key };
  return new Promise((done) => {
    execFile('bash', ['-c', script], { cwd: folder, env, timeout: RUN_TIMEOUT_MS }, (error, out, err) =>
      done({ code: error === null ? 0 : 1, said: out + err }),
    );
  });
}

/** All that the guide sets. */
const variables = [...new Set([...GUIDE.matchAll(/^([A-Z]+)=/gm)].map(([, name]) => name ?? ''))];

describe('the guide', () => {
  test('has a command for every endpoint of the reference', async () => {
    const document = (await (await fetch(`${stack.url}/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const guided = GUIDE.replaceAll(/\$[A-Z]+\b/g, '{}').replaceAll('{}/v', '/v');
    const missing = Object.keys(document.paths)
      .filter((path) => !LEFT_OUT.has(path))
      .map((path) => path.replaceAll(/\{\w+\}/g, '{}').replace('/v1/models/{}/{}', '/v1/models/local/chat'))
      .filter((path) => !guided.includes(path));
    expect(missing).toEqual([]);
  });

  test.each(sections.map((section) => [section.title, section] as const))('%s', async (_title, section) => {
    if (needsComputers(section) && !withComputers) return;
    const { code, said } = await run(section);
    expect(code, said).toBe(0);
  });

  test('leaves a picture, a video and sound behind', async () => {
    const made = (name: string) => readFile(join(folder, name));
    expect((await made('boats.png')).subarray(1, 4).toString()).toBe('PNG');
    expect((await made('digits.wav')).subarray(0, 4).toString()).toBe('RIFF');
    expect((await made('boat.mp4')).subarray(4, 8).toString()).toBe('ftyp');
  });
});

/** Described where they belong: in webhooks.md and computers.md, in the reference, or as another way to the same. */
const LEFT_OUT = new Set([
  '/v1/computers/{id}/ports/{port}/{path}',
  '/v1/computers/{id}/terminal',
  '/v1/links/{token}/{path}',
  '/v1/models/{model}',
  '/v1/webhooks/{id}',
  '/v1/webhooks/{id}/rotate',
  '/v1/webhooks/{id}/test',
  '/v1/webhooks/{id}/deliveries',
  '/v1/webhooks/signing_secret',
  '/v1/webhooks/signing_secret/rotate',
  '/v1/videos/{id}/content',
]);

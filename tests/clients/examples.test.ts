// Every program in examples/ runs as a user would run it, and the tour notices a bill that is off by a nano-dollar.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { docker, startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');
const RUN_TIMEOUT_MS = 100_000;
/** Not programs, but what they share. */
const SHARED = ['client.ts', 'terminal.ts'];

const withComputers = (await docker()) !== undefined;

let stack: TestStack;

beforeAll(async () => {
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: withComputers ? 'on' : 'off', SWITCHYARD_WARM_POOL: '1' },
  });
});
afterAll(async () => {
  await stack?.stop();
});

interface Ran {
  code: number;
  output: string;
}

function run(file: string, url = stack.url, args: string[] = []): Promise<Ran> {
  const env = { ...process.env, SWITCHYARD_URL: url, SWITCHYARD_KEY: stack.key };
  const options = { env, timeout: RUN_TIMEOUT_MS };
  return new Promise((done) => {
    execFile(process.execPath, [join(EXAMPLES, file), ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      done({ code, output: stdout + stderr });
    });
  });
}

describe('the tour', () => {
  it('ends with a bill that agrees to the nano-dollar', async () => {
    const { code, output } = await run('tour.ts');
    expect(output).toContain('6 * 7 = 42');
    expect(output).toContain(withComputers ? '42 (exit 0' : 'computers are switched off');
    expect(output).toContain('They agree to the nano-dollar.');
    expect(code).toBe(0);
  });

  it('exits with 1 when the bill is off by one nano-dollar', async () => {
    const crooked = await startCrookedProxy();
    const { port } = crooked.address() as AddressInfo;
    const { code, output } = await run('tour.ts', `http://127.0.0.1:${port}`);
    crooked.closeAllConnections();
    crooked.close();
    expect(output).toContain('THEY DO NOT AGREE');
    expect(code).toBe(1);
  });
});

describe('the examples', () => {
  const expected: Record<string, RegExp> = {
    'chat.ts': /The letter r is 3 times.*local\/chat, \d+ tokens, \$0\.0000/s,
    'chat-stream.ts': /1, 2, 3, .*20.*local\/chat, \d+ tokens, \$0\.0000/s,
    'embeddings.ts': /rain tomorrow\?\n +0\.\d+ +Heavy rain/,
    'usage.ts': /local\/chat +\d+ calls.*The latest:/s,
    'keys.ts': /it may read the usage.*403 permission_denied.*revoked/s,
    'computer.ts': /written before the stop.*deleted; 2 minutes/s,
    'tour.ts': /agree/,
  };

  it('are all run here', async () => {
    const files = (await readdir(EXAMPLES)).filter((file) => file.endsWith('.ts') && !SHARED.includes(file));
    expect(Object.keys(expected).sort()).toEqual(files.sort());
  });

  it.each(['chat.ts', 'chat-stream.ts', 'embeddings.ts', 'usage.ts', 'keys.ts'])('%s', async (file) => {
    const { code, output } = await run(file);
    expect(output).toMatch(expected[file] ?? /^$/);
    expect(code).toBe(0);
  });

  it.skipIf(!withComputers)('computer.ts', async () => {
    // The tour before it has waited for the image.
    const { code, output } = await run('computer.ts');
    expect(output).toMatch(expected['computer.ts'] ?? /^$/);
    expect(code).toBe(0);
  });

  it('say how to get a key where there is none', async () => {
    const { SWITCHYARD_KEY: _, ...env } = process.env;
    const options = { env: { ...env, SWITCHYARD_DATA: join(stack.dataFolder, 'nowhere') } };
    const output = await new Promise<string>((done) => {
      execFile(process.execPath, [join(EXAMPLES, 'chat.ts')], options, (_error, _stdout, stderr) =>
        done(stderr),
      );
    });
    expect(output).toContain('set SWITCHYARD_KEY, or run `npm start` first');
  });
});

/** Passes everything on, and adds a nano-dollar to every row of Usage. */
async function startCrookedProxy(): Promise<Server> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = new Headers({ authorization: request.headers.authorization ?? '' });
    if (chunks.length > 0) headers.set('content-type', 'application/json');
    const answer = await fetch(stack.url + request.url, {
      method: request.method ?? 'GET',
      headers,
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    });
    const text = await answer.text();
    const isUsage = request.url?.startsWith('/v1/usage') === true;
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'application/json',
    });
    response.end(isUsage ? JSON.stringify(oneNanoMore(JSON.parse(text))) : text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function oneNanoMore(usage: { data: { cost: number }[] }): unknown {
  return {
    ...usage,
    data: usage.data.map((row) => ({ ...row, cost: Number((row.cost + 1e-9).toFixed(9)) })),
  };
}

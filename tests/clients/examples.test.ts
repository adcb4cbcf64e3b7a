// Every program in examples/ runs as a user would run it, and the tour notices a bill that is off by a nano-dollar.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { docker, startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');
const EVENTS = resolve(import.meta.dirname, '../../infra/local/src/events-tail.ts');
const RUN_TIMEOUT_MS = 280_000;
/** A line of the tour's bill for each type of model: the model, its cost, and what was counted. */
const BILLED = [
  /local\/chat .*output tokens/,
  /local\/embed .*input tokens/,
  /local\/rerank .*1 searches/,
  /local\/decide .*output tokens/,
  /local\/image .*2 images/,
  /local\/speech .*20 characters/,
  /local\/transcribe .*seconds/,
  /local\/video .*2 seconds/,
];

/** Shared by the programs. */
const SHARED = ['client.ts', 'saved.ts', 'terminal.ts', 'tour-computer.ts', 'tour-models.ts'];

const withComputers = (await docker()) !== undefined;

let stack: TestStack;
/** Where the examples save files. */
let output: string;

beforeAll(async () => {
  output = await temporaryFolder('examples');
  stack = await startStack({
    env: { SWITCHYARD_COMPUTERS: withComputers ? 'on' : 'off', SWITCHYARD_WARM_POOL: '1' },
  });
});
afterAll(async () => {
  await stack?.stop();
  await rm(output, { recursive: true, force: true });
});

interface Ran {
  code: number;
  /** Both streams. */
  said: string;
}

function run(file: string, url = stack.url): Promise<Ran> {
  return runWith({ ...process.env, SWITCHYARD_URL: url, SWITCHYARD_KEY: stack.key, OUTPUT: output }, file);
}

function runWith(env: NodeJS.ProcessEnv, file: string): Promise<Ran> {
  const options = { env, timeout: RUN_TIMEOUT_MS };
  return new Promise((done) => {
    execFile(process.execPath, [join(EXAMPLES, file)], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      done({ code, said: stdout + stderr });
    });
  });
}

describe('the tour', () => {
  it('ends with a bill that agrees to the nano-dollar', async () => {
    const { code, said } = await run('tour.ts');
    expect(said).toContain('6 * 7 = 42');
    expect(said).toContain(withComputers ? '42 (exit 0' : 'Computers are switched off');
    expect(said).toContain('They agree to the nano-dollar.');
    expect(code).toBe(0);
    for (const line of BILLED) expect(said).toMatch(line);
  });

  it('saves pictures, sound and a video', async () => {
    const saved = (name: string) => readFile(join(output, name));
    for (const picture of ['tour-1.png', 'tour-2.png'])
      expect((await saved(picture)).subarray(1, 4).toString()).toBe('PNG');
    expect((await saved('tour.wav')).subarray(0, 4).toString()).toBe('RIFF');
    expect((await saved('tour.mp4')).subarray(4, 8).toString()).toBe('ftyp');
  });

  it('exits with 1 when the bill is off by one nano-dollar', async () => {
    const crooked = await startCrookedProxy();
    const { port } = crooked.address() as AddressInfo;
    const { code, said } = await run('tour.ts', `http://127.0.0.1:${port}`);
    crooked.closeAllConnections();
    crooked.close();
    expect(said).toContain('THEY DO NOT AGREE');
    expect(code).toBe(1);
  });
});

describe('the examples', () => {
  const expected: Record<string, RegExp> = {
    'chat.ts': /6 \* 7 = 42.*local\/chat, \d+ tokens, \$0\.0000/s,
    'chat-stream.ts': /1, 2, 3, .*20.*local\/chat, \d+ tokens, \$0\.0000/s,
    'images.ts': /image-1\.png.*image-2\.png.*2 images, \$0\.001\b/s,
    'speech.ts': /speech\.mp3, audio\/mpeg, \d+ bytes.*44 characters, \$0\.000044/s,
    'transcriptions.ts': /\n {2}(seven three nine one|7 ?3 ?9 ?1)\n.* seconds, \$0\.0000/is,
    'videos.ts': /pending, 480p.*video\.mp4, video\/mp4, \d+ bytes.*2 seconds, \$0\.002\b/s,
    'decisions.ts': /large +true +p = (0\.[5-9]\d|1\.00).*team +refunds.*anger/s,
    'rerank.ts': /by the minute\n +\d\.\d+ +Computers are rented.*1 search, \$0\.00002/s,
    'files.ts': /cities\.csv is stored as file_.*the same to the byte.*deleted/s,
    'embeddings.ts': /rain tomorrow\?\n +0\.\d+ +Heavy rain/,
    'usage.ts': /local\/chat +\d+ calls.*The latest:/s,
    'keys.ts': /it may read the usage.*403 permission_denied.*revoked/s,
    'computer.ts': /written before the stop.*28 bytes copied.*2 cities\.csv.*deleted; \d+ minutes/s,
    'computer-stream.ts': /three.*read back: .*MB of memory.*it went on/s,
    'tour.ts': /agree/,
  };

  it('are all run here', async () => {
    const files = (await readdir(EXAMPLES)).filter((file) => file.endsWith('.ts') && !SHARED.includes(file));
    expect(Object.keys(expected).sort()).toEqual(files.sort());
  });

  it.each(
    Object.keys(expected).filter((file) => !['tour.ts', 'computer.ts', 'computer-stream.ts'].includes(file)),
  )('%s', async (file) => {
    const { code, said } = await run(file);
    expect(said).toMatch(expected[file] ?? /^$/);
    expect(code).toBe(0);
  });

  it.skipIf(!withComputers).each(['computer.ts', 'computer-stream.ts'])('%s', async (file) => {
    // The tour before them has waited for the image.
    const { code, said } = await run(file);
    expect(said).toMatch(expected[file] ?? /^$/);
    expect(code).toBe(0);
  });

  it('find the stack of the data folder without an address in the environment', async () => {
    const { SWITCHYARD_URL: _, ...env } = process.env;
    const here = { ...env, SWITCHYARD_DATA: stack.dataFolder, SWITCHYARD_KEY: stack.key };
    const { code, said } = await runWith(here, 'chat.ts');
    expect(said).toMatch(expected['chat.ts'] ?? /^$/);
    expect(code).toBe(0);
  });

  it('`npm run events` finds the stack of the data folder too', async () => {
    const { NATS_URL: _, ...env } = process.env;
    const here = { ...env, SWITCHYARD_DATA: stack.dataFolder };
    const events = spawn(process.execPath, [EVENTS, '--since', '1h'], {
      env: here,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    for await (const text of events.stdout.setEncoding('utf8')) {
      said += text;
      if (/call\.completed .* local\/chat/.test(said)) break;
    }
    events.kill();
    expect(said).toMatch(/call\.completed .* local\/chat/);
  });

  it('`npm run events` refuses wrong arguments in one line', async () => {
    const events = async (...args: string[]) => {
      const program = spawn(process.execPath, [EVENTS, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      program.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      const [code] = await once(program, 'close');
      return { code, said };
    };
    const refused = (said: string) => ({ code: 1, said: expect.stringMatching(new RegExp(`^${said}.*\n$`)) });
    expect(await events('--filter', 'call')).toEqual(refused("Unknown option '--filter'"));
    expect(await events('call')).toEqual(refused("Unexpected argument 'call'"));
    expect(await events('--only', 'calls')).toEqual(refused('--only calls: write one of call, '));
    expect(await events('--since', '15')).toEqual(refused('--since 15: write a number'));
  });

  it('name the address where nothing answers', async () => {
    const { code, said } = await run('usage.ts', 'http://127.0.0.1:65535');
    expect(said).toContain(
      'nothing answers at http://127.0.0.1:65535: run `npm start`, or set SWITCHYARD_URL',
    );
    expect(code).toBe(1);
  });

  it('say how to get a key where there is none', async () => {
    const { SWITCHYARD_KEY: _, ...env } = process.env;
    const nowhere = { ...env, SWITCHYARD_DATA: join(stack.dataFolder, 'nowhere') };
    const { said } = await runWith(nowhere, 'chat.ts');
    expect(said).toContain('set SWITCHYARD_KEY, or run `npm start` first');
  });
});

/** Passes everything on, and adds a nano-dollar to every row of Usage. */
async function startCrookedProxy(): Promise<Server> {
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization = '', 'content-type': contentType } = request.headers;
    const headers = new Headers({ authorization });
    if (contentType !== undefined) headers.set('content-type', contentType);
    const answer = await fetch(stack.url + request.url, {
      method: request.method ?? 'GET',
      headers,
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    const isUsage = request.url?.startsWith('/v1/usage') === true;
    const cost = answer.headers.get('x-service-cost');
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'application/json',
      ...(cost === null ? {} : { 'x-service-cost': cost }),
    });
    response.end(isUsage ? JSON.stringify(oneNanoMore(JSON.parse(body.toString()))) : body);
  };
  // An exchange that either side breaks off is none of the test's.
  const server = createServer(
    (request, response) => void pass(request, response).catch(() => response.destroy()),
  );
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

// Stored files and copying them into computers, through the whole stack: HTTP, edge, control, the object store, the
// agent, Docker; with services killed on the way.
import { createHash, hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type Bus, connectBus, openBucket } from '@switchyard/bus';
import {
  ALL_PERMISSIONS,
  type FileObject,
  keyRecordKey,
  newId,
  type OrgRecord,
  type Permission,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startStack, type TestStack } from '@switchyard/testing';
import OpenAI, { NotFoundError, toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstComputer, SET_UP_MS_MAX } from './__fixtures__/first-computer.ts';

const MIB = 1024 * 1024;
const FILE_BYTES_MAX = 512 * MIB;
/** One file of the largest size, and 40 MB. */
const QUOTA_GB = 0.58;
const BOUNDARY = 'a-boundary-of-these-tests';

let stack: TestStack;
let bus: Bus;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at by the test
  readonly body: any;
}

async function call(method: string, path: string, body?: unknown, key = stack.key): Promise<Answer> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${stack.url}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

function formWith(content: string | Uint8Array<ArrayBuffer>, name = 'a.txt', type = 'text/plain'): FormData {
  const form = new FormData();
  form.set('file', new Blob([content], { type }), name);
  return form;
}

async function store(
  content: string | Uint8Array<ArrayBuffer>,
  name?: string,
  type?: string,
): Promise<FileObject> {
  const { status, body } = await call('POST', '/files', formWith(content, name, type));
  if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body;
}

const content = (id: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${stack.url}/v1/files/${id}/content`, {
    method,
    headers: { authorization: `Bearer ${stack.key}`, ...headers },
  });

const storedIds = async (): Promise<string[]> =>
  (await call('GET', '/files')).body.data.map(({ id }: FileObject) => id);

/** Usage of an org's quota, as kept by control. */
const usage = async (org: string) => (await (await openBucket(bus, 'file-usage')).get(org))?.value;

async function keyOf(org: string, permissions: readonly Permission[] = ALL_PERMISSIONS): Promise<string> {
  const secret = `sy_${randomBytes(24).toString('base64url')}`;
  const at = new Date().toISOString();
  const record: OrgRecord = {
    ...{ id: org, name: 'of a test', billing: 'postpaid', monthly_limit: null },
    ...{ created_at: at, updated_at: at, suspended_at: null, removed_at: null },
  };
  await (await openBucket(bus, 'orgs')).change(org, (known) => (known ? null : record));
  const id = newId('key');
  await (await openBucket(bus, 'keys')).create(keyRecordKey(org, id), {
    id,
    org,
    name: 'of a test',
    permissions: [...permissions],
    prefix: secret.slice(0, 8),
    created_at: at,
    expires_at: null,
    secrets: [{ hash: hash('sha256', secret), until: null }],
  });
  const isKnown = async () => {
    const { status, body } = await call('GET', '/models', undefined, secret);
    return status === 200 || body.error.code === 'permission_denied';
  };
  await expect.poll(isKnown).toBe(true);
  return secret;
}

const part = (name: string, filename: string | null, text = '', type = 'text/plain') =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${
    filename === null ? '' : `; filename="${filename}"\r\ncontent-type: ${type}`
  }\r\n\r\n${text}`;
const END = `\r\n--${BOUNDARY}--\r\n`;

interface RawUpload {
  readonly pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly key?: string;
  readonly headers?: Record<string, string>;
}

/** Writes the whole request body piece by piece, whatever the answer is. */
async function rawUpload({ pieces, key = stack.key, headers = {} }: RawUpload): Promise<Answer> {
  const outgoing = httpRequest(`${stack.url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      ...headers,
    },
  });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.on('error', () => {}); // `answered` reports an error before the answer; later errors do not matter
  Readable.from(pieces).pipe(outgoing);
  const [response] = await answered;
  const body = Buffer.concat(await response.toArray()).toString('utf8');
  const names = Object.keys(response.headers);
  const received = new Headers(names.map((name) => [name, String(response.headers[name])]));
  return { status: response.statusCode ?? 0, headers: received, body: JSON.parse(body) };
}

const text = (...pieces: string[]) => ({ pieces: [Buffer.from(pieces.join(''))] });

/** Streams a file of this size; `sha256` is correct after it has been read. */
function largeFile(bytes: number) {
  const sha256 = createHash('sha256');
  const block = randomBytes(MIB);
  async function* pieces() {
    yield Buffer.from(`${part('purpose', null, 'user_data')}\r\n${part('file', 'large.bin')}`);
    for (let at = 0; at < bytes; at += block.length) {
      block.writeUInt32LE(at >>> 0);
      const piece = Buffer.from(block.subarray(0, Math.min(block.length, bytes - at)));
      sha256.update(piece);
      yield piece;
    }
    yield Buffer.from(END);
  }
  return { pieces: pieces(), digest: () => sha256.digest('hex') };
}

/** Peak memory of a process in MiB. */
async function peakMib(service: string): Promise<number> {
  const status = await readFile(`/proc/${await stack.pidOf(service)}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

beforeAll(async () => {
  stack = await startStack({
    services: ['edge', 'control', 'computer-agent', 'model-router'],
    env: {
      SWITCHYARD_COMPUTERS: 'on',
      SWITCHYARD_WARM_POOL: '1',
      SWITCHYARD_STORAGE_GB: String(QUOTA_GB),
    },
  });
  bus = await connectBus({ url: stack.natsUrl, service: 'test', logger: makeLogger('test', 'silent') });
});
afterAll(async () => {
  await bus?.close();
  await stack?.stop();
});

describe('a stored file', () => {
  test('supports the calls of OpenAI’s client', async () => {
    const client = new OpenAI({ apiKey: stack.key, baseURL: `${stack.url}/v1`, maxRetries: 0 });
    const bytes = randomBytes(300_000);
    const file = await toFile(bytes, 'numbers.bin', { type: 'application/x-numbers' });
    const stored = await client.files.create({ file, purpose: 'assistants' });
    const known = {
      id: stored.id,
      object: 'file',
      filename: 'numbers.bin',
      purpose: 'assistants',
      status: 'processed',
      media_type: 'application/x-numbers',
      bytes: 300_000,
      sha256: hash('sha256', bytes),
    };
    expect(stored).toMatchObject(known);
    expect(stored.created_at).toBeTypeOf('number');
    expect(stored.expires_at).toBeUndefined();
    expect(await client.files.retrieve(stored.id)).toEqual(stored);
    const listed: unknown[] = [];
    for await (const one of client.files.list({ purpose: 'assistants', limit: 1 })) listed.push(one);
    expect(listed).toContainEqual(stored);
    const back = Buffer.from(await (await client.files.content(stored.id)).arrayBuffer());
    expect(back.equals(bytes)).toBe(true);
    expect(await client.files.delete(stored.id)).toEqual({ id: stored.id, object: 'file', deleted: true });
    await expect(client.files.retrieve(stored.id)).rejects.toBeInstanceOf(NotFoundError);
  });

  test('of 512 MB passes both ways without being held by edge or control; one more byte, or more than the quota, is refused', async () => {
    const key = await keyOf('org_large');
    const before = { edge: await peakMib('edge'), control: await peakMib('control') };
    const { pieces, digest } = largeFile(FILE_BYTES_MAX);
    const { status, body } = await rawUpload({ pieces, key });
    expect([status, body.bytes]).toEqual([201, FILE_BYTES_MAX]);
    expect(body.sha256).toBe(digest());
    const response = await fetch(`${stack.url}/v1/files/${body.id}/content`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const back = createHash('sha256');
    for await (const piece of response.body ?? []) back.update(piece);
    expect(back.digest('hex')).toBe(body.sha256);
    for (const service of ['edge', 'control'] as const)
      expect(await peakMib(service), service).toBeLessThan(before[service] + 150);
    const beyond = await rawUpload({ pieces: largeFile(60 * MIB).pieces, key });
    expect([beyond.status, beyond.body.error.code]).toEqual([413, 'storage_quota_exceeded']);
    expect((await call('DELETE', `/files/${body.id}`, undefined, key)).status).toBe(200);
    const again = await rawUpload({ pieces: largeFile(60 * MIB).pieces, key });
    expect(again.status).toBe(201);
    await expect
      .poll(() => usage('org_large'))
      .toEqual({ bytes: 60 * MIB, files: 1, arriving: {}, leaving: {} });
    await call('DELETE', `/files/${again.body.id}`, undefined, key);
    const more = await rawUpload({ pieces: largeFile(FILE_BYTES_MAX + 1).pieces, key });
    expect([more.status, more.body.error.code, more.body.error.param]).toEqual([
      413,
      'body_too_large',
      'file',
    ]);
    await expect.poll(() => usage('org_large')).toEqual({ bytes: 0, files: 0, arriving: {}, leaving: {} });
  }, 600_000);

  test('with too large a Content-Length is refused before its body, and the client can read the error', async () => {
    const bytes = FILE_BYTES_MAX + MIB;
    async function* pieces() {
      yield Buffer.from(part('file', 'large.bin'));
      for (let n = 0; n < 8; n += 1) yield Buffer.alloc(MIB);
    }
    const outgoing = httpRequest(`${stack.url}/v1/files`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stack.key}`,
        'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
        'content-length': bytes,
      },
    });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    Readable.from(pieces()).pipe(outgoing, { end: false });
    const [response] = await answered;
    expect(response.statusCode).toBe(413);
    outgoing.on('error', () => {}).destroy();
  });

  test('is sent as an attachment that no browser runs, whatever its name and type', async () => {
    const names = ['a"b\\c.html', 'über; x=y.svg', '✓ 100%.txt'];
    for (const name of names) {
      const file = await store('<script>alert(1)</script>', name, 'text/html');
      expect(file.filename).toBe(name.replace(/^.*\\/, ''));
      const { headers } = await content(file.id);
      expect(headers.get('content-type')).toBe('text/html');
      expect(headers.get('content-length')).toBe('25');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      const disposition = headers.get('content-disposition') ?? '';
      expect(disposition).toMatch(/^attachment; filename="[^"\\%]*"; filename\*=UTF-8''[A-Za-z0-9%._~!-]+$/);
      expect(decodeURIComponent(disposition.split("''")[1] ?? '')).toBe(file.filename);
    }
    const evil = await rawUpload(
      text(part('file', 'a\tb\u0001%0d%0aset-cookie: x=y', 'text', 'text/html\tx, y'), END),
    );
    expect(evil.status).toBe(201);
    expect(evil.body).toMatchObject({ media_type: 'application/octet-stream' });
    const { headers } = await content(evil.body.id);
    expect(headers.get('set-cookie')).toBeNull();
    expect(headers.get('content-type')).toBe('application/octet-stream');
  });

  test('supports range requests, and reports its length to HEAD', async () => {
    const bytes = randomBytes(400_000);
    const { id, sha256 } = await store(bytes);
    const partly = await content(id, { range: 'bytes=131000-262999' });
    expect([partly.status, partly.headers.get('content-range')]).toEqual([206, 'bytes 131000-262999/400000']);
    expect(Buffer.from(await partly.arrayBuffer()).equals(bytes.subarray(131_000, 263_000))).toBe(true);
    const last = await content(id, { range: 'bytes=-10' });
    expect(Buffer.from(await last.arrayBuffer()).equals(bytes.subarray(-10))).toBe(true);
    const beyond = await content(id, { range: 'bytes=400000-' });
    expect([beyond.status, ((await beyond.json()) as Answer['body']).error.code]).toEqual([
      416,
      'range_not_satisfiable',
    ]);
    for (const range of ['bytes=5-1', 'bytes=0-1,5-6', 'lines=1-2'])
      expect((await (await content(id, { range })).arrayBuffer()).byteLength).toBe(400_000);
    const stale = await content(id, { range: 'bytes=0-1', 'if-range': '"another"' });
    expect([stale.status, (await stale.arrayBuffer()).byteLength]).toEqual([200, 400_000]);
    const head = await content(id, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
      200,
      '400000',
      `"${sha256}"`,
    ]);
  });

  test('needs storage:write to be stored or deleted, storage:read to be read, and its own org for both', async () => {
    const { id } = await store('mine');
    const reader = await keyOf('org_default', ['storage:read']);
    const writer = await keyOf('org_default', ['storage:write']);
    const computers = await keyOf('org_default', ['computers:write']);
    const stranger = await keyOf('org_stranger');
    const asked = async (key: string) => [
      (await call('POST', '/files', formWith('b'), key)).status,
      (await call('GET', '/files', undefined, key)).status,
      (await call('GET', `/files/${id}`, undefined, key)).status,
      (await fetch(`${stack.url}/v1/files/${id}/content`, { headers: { authorization: `Bearer ${key}` } }))
        .status,
    ];
    expect(await asked(reader)).toEqual([403, 200, 200, 200]);
    expect((await call('DELETE', `/files/${id}`, undefined, reader)).status).toBe(403);
    expect(await asked(computers)).toEqual([403, 403, 403, 403]);
    expect(await asked(stranger)).toEqual([201, 200, 404, 404]);
    const foreign = await call('DELETE', `/files/${id}`, undefined, stranger);
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'file_not_found']);
    expect((await call('GET', '/files', undefined, stranger)).body.data).toHaveLength(1);
    expect(await asked(writer)).toEqual([201, 200, 200, 200]);
    expect((await call('DELETE', `/files/${id}`, undefined, writer)).status).toBe(200);
  });
});

describe('a form that is not an upload', () => {
  test.each<[string, string[], string, string | null]>([
    ['has no file', [part('purpose', null, 'vision'), END], 'invalid_request', 'file'],
    ['has a field in place of the file', [part('file', null, 'x'), END], 'invalid_request', 'file'],
    [
      'has two files',
      [part('file', 'a', 'x'), '\r\n', part('file', 'b', 'y'), END],
      'invalid_request',
      'file',
    ],
    ['has a file of another name', [part('upload', 'a', 'x'), END], 'unknown_field', 'upload'],
    [
      'has an unknown field',
      [part('file', 'a', 'x'), '\r\n', part('color', null, 'red'), END],
      'unknown_field',
      'color',
    ],
    ['has a name that is too long', [part('file', 'x'.repeat(256), 'x'), END], 'invalid_request', 'file'],
    ['is cut short', [part('file', 'a', 'x')], 'invalid_multipart', null],
    ['is empty', [], 'invalid_multipart', null],
    ['is something else', ['{"file": "x"}'], 'invalid_multipart', null],
  ])('because it %s is refused with its code, and stores nothing', async (_why, pieces, code, param) => {
    const before = await storedIds();
    const { status, body } = await rawUpload(text(...pieces));
    expect([status, body.error.code, body.error.param]).toEqual([400, code, param]);
    expect(await storedIds()).toEqual(before);
  });

  test('is refused by its media type', async () => {
    const json = await call('POST', '/files', { file: 'x' });
    expect([json.status, json.body.error.code]).toEqual([415, 'unsupported_media_type']);
    const unbound = await rawUpload({ ...text('x'), headers: { 'content-type': 'multipart/form-data' } });
    expect([unbound.status, unbound.body.error.code]).toEqual([400, 'invalid_multipart']);
  });

  test('does not block the connection for the next request', async () => {
    const refused = await call(
      'POST',
      '/files',
      (() => {
        const form = formWith(new Uint8Array(3 * MIB));
        form.set('color', 'red');
        return form;
      })(),
    );
    expect(refused.status).toBe(400);
    expect((await call('GET', '/files')).status).toBe(200);
  });
});

describe('a computer', () => {
  let computer: string;
  const exec = async (command: string) =>
    (await call('POST', `/computers/${computer}/exec`, { command })).body;
  const upload = (body: unknown, key = stack.key, id = computer) =>
    call('POST', `/computers/${id}/upload`, body, key);

  beforeAll(async () => {
    ({ id: computer } = await firstComputer(stack));
  }, SET_UP_MS_MAX);

  test('receives a stored file under its own name or a given path, readable and owned by its user', async () => {
    const bytes = randomBytes(20 * MIB);
    const file = await store(bytes, 'numbers.bin');
    const first = await upload({ file: file.id });
    expect([first.status, first.body]).toEqual([200, { path: '/workspace/numbers.bin', bytes: 20 * MIB }]);
    const second = await upload({ file: file.id, path: 'data/in here/n.bin' });
    expect(second.body).toEqual({ path: '/workspace/data/in here/n.bin', bytes: 20 * MIB });
    const seen = await exec(
      'sha256sum < numbers.bin; sha256sum < "data/in here/n.bin"; stat -c "%U %a %n" numbers.bin data; id -un; ls -A',
    );
    const user = (await exec('id -un')).stdout.trim();
    expect(seen.stdout).toBe(
      `${file.sha256}  -\n${file.sha256}  -\n${user} 644 numbers.bin\n${user} 755 data\n${user}\ndata\nnumbers.bin\n`,
    );
    await exec('echo mine > data/in\\ here/n.bin && rm numbers.bin'); // its user can write and remove it
    expect((await exec('cat data/in\\ here/n.bin; ls')).stdout).toBe('mine\ndata\n');
  });

  test('receives nothing outside its /workspace, by name or by link', async () => {
    const { id: file } = await store('out');
    await exec('mkdir -p there && ln -s /etc etc && ln -s /etc/hostname last && ln -s ../../.. up');
    for (const path of ['/etc/x', '../x', 'there/../../x', 'etc/x', 'up/x', 'last/x']) {
      const { status, body } = await upload({ file, path });
      expect([path, status, body.error.code, body.error.param]).toEqual([
        path,
        400,
        'invalid_request',
        'path',
      ]);
    }
    expect((await upload({ file, path: 'there' })).body.error.param).toBe('path');
    expect((await upload({ file, path: 'last' })).status).toBe(200);
    expect((await exec('cat last; test -L last || echo a file; ls /etc/x')).stdout).toContain('outa file');
  });

  test('does not receive unknown files or files of another org, and must be known and running', async () => {
    const { id: file } = await store('x');
    const refusals = async (body: unknown, key?: string, id?: string) => {
      const answer = await upload(body, key, id);
      return [answer.status, answer.body.error.code];
    };
    expect(await refusals({ file: 'file_nope' })).toEqual([404, 'file_not_found']);
    expect((await upload({ file: 'file_nope' })).body.error.param).toBe('file');
    expect(await refusals({ file }, stack.key, 'cmp_nope')).toEqual([404, 'computer_not_found']);
    expect(await refusals({ file }, await keyOf('org_other'))).toEqual([404, 'computer_not_found']);
    const foreign = await call('POST', '/files', formWith('y'), await keyOf('org_third'));
    expect(await refusals({ file: foreign.body.id })).toEqual([404, 'file_not_found']);
    expect(await refusals({})).toEqual([400, 'invalid_request']);
    expect(await refusals({ file, mode: '777' })).toEqual([400, 'unknown_field']);
    expect(await refusals({ file }, await keyOf('org_default', ['computers:read', 'storage:write']))).toEqual(
      [403, 'permission_denied'],
    );
    const only = await upload({ file }, await keyOf('org_default', ['computers:write']));
    expect(only.status).toBe(200);
    await call('POST', `/computers/${computer}/stop`);
    const stopped = await upload({ file });
    expect([stopped.status, stopped.body.error.code, stopped.headers.get('x-should-retry')]).toEqual([
      409,
      'computer_not_running',
      'false',
    ]);
    expect((await call('POST', `/computers/${computer}/start`)).status).toBe(200);
    expect((await exec('cat a.txt')).stdout).toBe('x');
  });
});

describe('a death during an upload', () => {
  /** An upload that sends its first 20 MB and then stalls. */
  function stalledUpload(key: string): Promise<Answer> {
    async function* pieces() {
      yield Buffer.from(part('file', 'half.bin'));
      for (let n = 0; n < 20; n += 1) yield Buffer.alloc(MIB);
      await new Promise(() => {});
    }
    const outcome = rawUpload({ pieces: pieces(), key });
    outcome.catch(() => {}); // the caller that awaits it gets the error
    return outcome;
  }

  const arriving = async (org: string) => Object.keys((await usage(org))?.arriving ?? {}).length;

  test('of control: the client gets an error, no file is visible, and the next upload succeeds', async () => {
    const key = await keyOf('org_control_dies');
    const outcome = stalledUpload(key);
    await expect.poll(() => arriving('org_control_dies')).toBe(1);
    const { back } = await stack.kill9('control');
    const { status, headers, body } = await outcome;
    expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
    expect(headers.get('x-should-retry')).toBe('false');
    await back;
    expect((await call('GET', '/files', undefined, key)).body.data).toEqual([]);
    expect((await call('POST', '/files', formWith('a'), key)).status).toBe(201);
  });

  test('of the edge: no file is visible, and the quota is free again', async () => {
    const key = await keyOf('org_edge_dies');
    const outcome = stalledUpload(key);
    await expect.poll(() => arriving('org_edge_dies')).toBe(1);
    const { back } = await stack.kill9('edge');
    await expect(outcome).rejects.toThrow();
    await back;
    await expect
      .poll(() => usage('org_edge_dies'))
      .toEqual({ bytes: 0, files: 0, arriving: {}, leaving: {} });
    expect((await call('GET', '/files', undefined, key)).body.data).toEqual([]);
  });

  test('of the client: no file is visible, and the quota is free again', async () => {
    const key = await keyOf('org_client_dies');
    const outgoing = httpRequest(`${stack.url}/v1/files`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      },
    });
    outgoing.on('error', () => {});
    outgoing.write(part('file', 'half.bin', 'x'.repeat(MIB)));
    await expect.poll(() => arriving('org_client_dies')).toBe(1);
    outgoing.destroy();
    await expect
      .poll(() => usage('org_client_dies'))
      .toEqual({ bytes: 0, files: 0, arriving: {}, leaving: {} });
    expect((await call('GET', '/files', undefined, key)).body.data).toEqual([]);
  });
});

// https against a real TLS server: the certificate must match the name in the URL, though the socket connects to an IP.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllowList } from './allow-list.ts';
import { createEgress } from './egress.ts';

let server: Server;
let certificate: string;
let port: number;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=files.test', '-addext', 'subjectAltName=DNS:files.test,IP:127.0.0.1'];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', [...args, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
  certificate = readFileSync(cert, 'utf8');
  server = createServer({ key: readFileSync(key), cert: certificate }, (request, response) =>
    response.end(`${request.headers.host}`),
  );
  rmSync(folder, { recursive: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const allow = parseAllowList('127.0.0.1');
const lookup = async () => ['127.0.0.1'];
const trusting = () => createEgress({ allow, lookup, ca: [certificate] });

async function reasonOf(work: Promise<unknown>): Promise<unknown> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof ServiceError)) throw new Error(`expected a ServiceError, got ${String(error)}`);
  return error.details?.reason;
}

test.each(['files.test', '127.0.0.1'])('a trusted certificate for %s is accepted', async (host) => {
  const answer = await trusting().fetch(`https://${host}:${port}/`);
  expect((await answer.bytes()).toString()).toBe(`${host}:${port}`);
});

test('a certificate for another name is refused', async () => {
  expect(await reasonOf(trusting().fetch(`https://other.test:${port}/`))).toBe('tls');
});

test('a certificate from an unknown authority is refused', async () => {
  expect(await reasonOf(createEgress({ allow, lookup }).fetch(`https://files.test:${port}/`))).toBe('tls');
});

test('a redirect from https to http is refused', async () => {
  server.removeAllListeners('request');
  server.on('request', (_request, response) =>
    response.writeHead(302, { location: 'http://files.test/' }).end(),
  );
  const error = await trusting()
    .fetch(`https://files.test:${port}/`)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'url_not_allowed' });
});

// A minimal proxy in Node.js, as a floor: it checks one key, parses the body, sends it on and passes the
// answer back. It meters, limits and stores nothing. Its arguments are the upstream's URL and the key; it sends its
// own URL to its parent.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'undici';

const CONNECTIONS_MAX = 512;

const [, , url = '', key] = process.argv;
const upstream = new URL(url);
const pool = new Pool(upstream.origin, { connections: CONNECTIONS_MAX, pipelining: 1 });

const server = createServer(async (request, response) => {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  if (request.headers.authorization !== `Bearer ${key}`) {
    response.writeHead(401).end();
    return;
  }
  const answer = await pool.request({
    path: `${upstream.pathname}/chat/completions`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(JSON.parse(Buffer.concat(pieces).toString('utf8'))),
  });
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
  await pipeline(answer.body, response);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`),
);
process.on('disconnect', () => process.exit(0));

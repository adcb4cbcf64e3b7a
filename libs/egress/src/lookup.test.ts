import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { createLookup } from './lookup.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});

const A = 1;
const RESPONSE_NO_ERROR = 0x8180;
/** Time for a server that answers, also on a busy machine. */
const PATIENCE_MS = 60_000;

/** A test name server: answers A queries with these addresses, and no others; null: it is silent. */
async function nameServer(addresses: string[] | null, timeout = PATIENCE_MS) {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.on('message', (question, from) => {
    if (addresses) socket.send(answerTo(question, addresses), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const resolver = new Resolver({ timeout, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return createLookup(resolver);
}

/** RFC 1035, for one question without extensions. */
function answerTo(question: Buffer, addresses: string[]): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const found = question.readUInt16BE(end - 4) === A ? addresses : [];
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(RESPONSE_NO_ERROR, 2);
  head.writeUInt16BE(found.length, 6);
  head.writeUInt16BE(0, 10);
  const records = found.map((address) =>
    Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, question.subarray(12, end), ...records]);
}

test('all addresses of a name come from its name server', async () => {
  const lookup = await nameServer(['93.184.215.14', '10.0.0.1']);
  expect(await lookup('both.example')).toEqual(['93.184.215.14', '10.0.0.1']);
});

test('a name that no server knows may be in the hosts file', async () => {
  const lookup = await nameServer([]);
  const addresses = await lookup('localhost');
  expect(addresses.every((address) => address === '127.0.0.1' || address === '::1')).toBe(true);
  expect(addresses).not.toEqual([]);
});

test('a name that neither a server nor the hosts file knows is not looked up by a thread of the process', async () => {
  const lookup = await nameServer([]);
  await expect(lookup('unknown.example')).rejects.toMatchObject({ code: 'ENODATA', syscall: 'queryA' });
});

test('no thread of the process waits for a name server that never answers', async () => {
  const lookup = await nameServer(null, 100);
  await expect(lookup('slow.example')).rejects.toMatchObject({ code: 'ETIMEOUT' });
});

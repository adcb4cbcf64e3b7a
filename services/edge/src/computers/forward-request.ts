// Forwards an HTTP request to a server inside a computer, with Node's client over a connection through the bus. Bodies
// stream both ways at the reader's pace; an upgrade hands the connection to the client.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pass } from '../http/pass-bytes.ts';
import type { PendingUpgrade } from '../http/upgrades.ts';
import { type AnsweredFrom, type HeaderPairs, headersIn, headersOut } from './port-headers.ts';

interface ForwardedRequest {
  readonly connection: Duplex;
  readonly port: number;
  /** Path and query for the server inside, as received. */
  readonly path: string;
  /** The part of the path before `path`. */
  readonly prefix: string;
  readonly protocol: string;
  readonly host: string;
  readonly anyOrigin: boolean;
  readonly upgrade: PendingUpgrade | null;
}

/** Resolves when the answer is sent. @throws ServiceError `port_unreachable` until the first byte is sent. */
export async function forwardRequest(
  forwarded: ForwardedRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { connection, upgrade } = forwarded;
  const outgoing = askInside(forwarded, request);
  try {
    const answered = Promise.withResolvers<IncomingMessage>();
    outgoing.once('response', answered.resolve);
    outgoing.on('error', (cause) => answered.reject(unreachable(cause, connection))); // the first error counts
    outgoing.once('upgrade', (answer, _connection, head) => {
      if (!upgrade) return answered.reject(notHttp('upgraded a connection without a request'));
      // After the upgrade, client and server use the connection directly; the answer is the upgrade itself.
      joinUpgraded(upgrade, { answer, head, connection, pairs: headersOut(answerOf(answer)) }, reply).then(
        () => answered.reject(UPGRADED),
        answered.reject,
      );
    });
    if (upgrade || hasNoBody(request)) outgoing.end();
    else request.raw.pipe(outgoing); // an error while sending rejects `answered`
    const answer = await answered.promise;
    const { status, reason } = statusOf(answer);
    // Write the head before hijacking: after it, Fastify would swallow the error of an invalid head.
    reply.raw.writeHead(status, reason, headersOut(answerOf(answer)).flat());
    reply.hijack();
    reply.raw.flushHeaders();
    await pass(answer, reply, () => {});
  } catch (error) {
    if (error !== UPGRADED) throw error;
  } finally {
    connection.destroy();
    // A server may answer before it has read the whole request. The rest is discarded: with unread bytes on the socket
    // the client's disconnect would go unnoticed and block the shutdown of the edge.
    if (!upgrade) request.raw.unpipe(outgoing).resume();
  }

  function answerOf({ rawHeaders }: IncomingMessage): AnsweredFrom {
    const { port, prefix, anyOrigin } = forwarded;
    return { rawHeaders, port, prefix, anyOrigin, requestId: request.id };
  }
}

const UPGRADED = Symbol('the connection was upgraded');
/** Lower statuses are interim responses or invalid. */
const STATUS_MIN = 200;
/** Characters that Node's parser accepts in a reason phrase but its writer does not. */
const NOT_IN_REASON = /[^\t\x20-\x7e\x80-\xff]/;

function askInside(forwarded: ForwardedRequest, request: FastifyRequest): ClientRequest {
  const { connection, port, path, prefix, protocol, host, upgrade } = forwarded;
  const { rawHeaders } = request.raw;
  const headers = headersIn({ rawHeaders, port, prefix, protocol, host, clientAddress: request.ip });
  if (upgrade) headers.push(['Connection', 'Upgrade'], ['Upgrade', 'websocket']);
  else {
    headers.push(['Connection', 'close']); // each request has its own connection
    if (request.raw.headers['transfer-encoding'] !== undefined)
      headers.push(['Transfer-Encoding', 'chunked']);
  }
  return httpRequest({
    createConnection: () => connection,
    method: request.method,
    path,
    headers: headers.flat(),
    setHost: false,
    joinDuplicateHeaders: true,
  });
}

function hasNoBody({ raw }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers;
  return length === '0' && encoding === undefined;
}

interface Upgraded {
  readonly answer: IncomingMessage;
  /** Bytes that arrived with the answer. */
  readonly head: Buffer;
  readonly connection: Duplex;
  readonly pairs: HeaderPairs;
}

/** Resolves when either side has closed the connection. */
async function joinUpgraded(
  upgrade: PendingUpgrade,
  { answer, head, connection, pairs }: Upgraded,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  const client = upgrade.accept();
  const lines = [...pairs, ['Connection', 'Upgrade'], ['Upgrade', answer.headers.upgrade ?? 'websocket']];
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    'latin1',
  );
  client.write(head);
  connection.write(upgrade.head);
  try {
    await Promise.all([pipeline(client, connection), pipeline(connection, client)]);
  } catch {
    // Closing one side closes the other; the WebSocket protocol itself tells a clean end from an error.
  } finally {
    client.destroy();
  }
}

/** @throws ServiceError `port_unreachable` without a valid final HTTP status. */
function statusOf({ statusCode = 0, statusMessage = '' }: IncomingMessage) {
  if (statusCode < STATUS_MIN) throw notHttp(`answered with the invalid status ${statusCode}`);
  return { status: statusCode, reason: NOT_IN_REASON.test(statusMessage) ? '' : statusMessage };
}

function notHttp(what: string): ServiceError {
  return new ServiceError('port_unreachable', `The server on the port ${what}. Check the server.`, {
    details: { reason: 'not_http' },
  });
}

function unreachable(cause: Error & { code?: string }, connection: Duplex): ServiceError {
  const { errored } = connection;
  if (errored instanceof ServiceError) return errored;
  const isReset = cause.code === 'ECONNRESET';
  return new ServiceError(
    'port_unreachable',
    isReset
      ? 'The server in the computer closed the connection without an answer. Check the server.'
      : 'The server on the port does not speak HTTP. Check the port.',
    { cause, details: { reason: isReset ? 'reset' : 'not_http' } },
  );
}

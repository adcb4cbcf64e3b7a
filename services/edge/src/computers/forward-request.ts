// An HTTP request to a server inside a computer, by Node's own client over a connection through the bus. Bodies stream both
// ways at their readers' pace; an upgrade makes the connection the client's own.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pass } from '../http/pass-bytes.ts';
import type { PendingUpgrade } from '../http/upgrades.ts';
import { type AnsweredFrom, type HeaderPairs, headersIn, headersOut } from './port-headers.ts';

export interface ForwardedRequest {
  readonly connection: Duplex;
  readonly port: number;
  /** Of the server inside, with its query, as it was sent. */
  readonly path: string;
  /** The path before it. */
  readonly prefix: string;
  readonly protocol: string;
  readonly host: string;
  readonly anyOrigin: boolean;
  readonly upgrade: PendingUpgrade | null;
}

/** Resolves when the answer has gone. @throws ServiceError `port_unreachable` as long as nothing of it was sent. */
export async function forwardRequest(
  forwarded: ForwardedRequest,
  clock: Clock,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { connection, upgrade } = forwarded;
  const outgoing = askInside(forwarded, request);
  try {
    const answered = Promise.withResolvers<IncomingMessage>();
    outgoing.once('response', answered.resolve);
    outgoing.on('error', (cause) => answered.reject(unreachable(cause, connection))); // of several, the first says it
    outgoing.once('upgrade', (answer, _connection, head) => {
      if (!upgrade) return answered.reject(notHttp('upgrades a connection unasked'));
      // What follows is the client's and the server's own affair; the answer is the upgrade itself.
      joinUpgraded(upgrade, { answer, head, connection, pairs: headersOut(answerOf(answer)) }, reply).then(
        () => answered.reject(UPGRADED),
        answered.reject,
      );
    });
    if (upgrade || hasNoBody(request)) outgoing.end();
    else request.raw.pipe(outgoing); // how sending ends shows in the answer
    const answer = await answered.promise;
    const { status, reason } = statusOf(answer);
    // Taken over only now: a head that cannot be written becomes an error of ours, which a reply taken over would swallow.
    reply.raw.writeHead(status, reason, headersOut(answerOf(answer)).flat());
    reply.hijack();
    reply.raw.flushHeaders();
    await pass(answer, reply, clock, () => {});
  } catch (error) {
    if (error !== UPGRADED) throw error;
  } finally {
    connection.destroy();
    // A server may answer before it has read it all. What still comes is dropped: with bytes unread on its socket nobody
    // would notice the client's end, and the edge could not end either.
    if (!upgrade) request.raw.unpipe(outgoing).resume();
  }

  function answerOf({ rawHeaders }: IncomingMessage): AnsweredFrom {
    const { port, prefix, anyOrigin } = forwarded;
    return { rawHeaders, port, prefix, anyOrigin, requestId: request.id };
  }
}

const UPGRADED = Symbol('the connection was upgraded');
/** Those below come before another one, or are none. */
const STATUS_MIN = 200;
/** Node reads more than it writes. */
const NOT_IN_REASON = /[^\t\x20-\x7e\x80-\xff]/;

function askInside(forwarded: ForwardedRequest, request: FastifyRequest): ClientRequest {
  const { connection, port, path, prefix, protocol, host, upgrade } = forwarded;
  const { rawHeaders } = request.raw;
  const headers = headersIn({ rawHeaders, port, prefix, protocol, host, clientAddress: request.ip });
  if (upgrade) headers.push(['Connection', 'Upgrade'], ['Upgrade', 'websocket']);
  else {
    headers.push(['Connection', 'close']); // one connection for each request
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
  /** Bytes that came with the answer. */
  readonly head: Buffer;
  readonly connection: Duplex;
  readonly pairs: HeaderPairs;
}

/** Resolves when either side has ended it. */
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
    // One of them went away, which ends the other: WebSockets say for themselves whether that was their end.
  } finally {
    client.destroy();
  }
}

/** @throws ServiceError `port_unreachable` where there is no final status of HTTP. */
function statusOf({ statusCode = 0, statusMessage = '' }: IncomingMessage) {
  if (statusCode < STATUS_MIN) throw notHttp(`answers with the status ${statusCode}`);
  return { status: statusCode, reason: NOT_IN_REASON.test(statusMessage) ? '' : statusMessage };
}

function notHttp(what: string): ServiceError {
  return new ServiceError('port_unreachable', `what listens on the port ${what}`, {
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
      ? 'the server in the computer ended the connection without an answer'
      : 'what listens on the port does not answer as an HTTP server',
    { cause, details: { reason: isReset ? 'reset' : 'not_http' } },
  );
}

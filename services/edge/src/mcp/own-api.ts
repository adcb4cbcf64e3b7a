// Calls this edge's own HTTP API with the caller's key, over a connection to itself: permissions, limits, metering and
// logs of a tool are those of the endpoint.
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ErrorBody, errorBody, ServiceError } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';
import { CALLER_HEADERS } from '../openapi/request-headers.ts';

/** Bytes of one answer that a tool reads into memory. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

interface Sent {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Readable | Buffer;
}

/** The API refused a call of a tool. */
export class RefusedCall extends Error {
  readonly error: ErrorBody['error'];

  constructor(error: ErrorBody['error']) {
    super(error.message);
    this.name = 'RefusedCall';
    this.error = error;
  }
}

export class OwnApi {
  readonly #caller: FastifyRequest;
  readonly #signal: AbortSignal;
  #cost = 0;
  #requestId: string | null = null;

  /** @param signal cancels calls that are open */
  constructor(caller: FastifyRequest, signal: AbortSignal) {
    this.#caller = caller;
    this.#signal = signal;
  }

  /** The cost of the calls so far in US dollars, and the id of the charged call, else of the first one. */
  get receipt(): { cost: number; request_id: string | null } {
    return { cost: this.#cost, request_id: this.#requestId };
  }

  /** Sends a JSON body and returns the JSON of the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: the answers of the API's own endpoints
  async json(method: Method, path: string, body?: object): Promise<any> {
    return this.#read(method, path, body === undefined ? {} : jsonBody(JSON.stringify(body)));
  }

  /** Sends a JSON body and returns the answer, whose body is still to be read. */
  postJson(path: string, body: object): Promise<IncomingMessage> {
    return this.send('POST', path, jsonBody(JSON.stringify(body)));
  }

  /** As `json`, with a streamed body. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async jsonStream(path: string, body: AsyncIterable<string>): Promise<any> {
    return this.#read('POST', path, jsonBody(Readable.from(body, { objectMode: false })));
  }

  /** Sends a form. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async form(path: string, form: FormData): Promise<any> {
    const encoded = new Response(form);
    const headers = { 'content-type': encoded.headers.get('content-type') as string };
    return this.#read('POST', path, { headers, body: Buffer.from(await encoded.arrayBuffer()) });
  }

  /**
   * Returns the answer, whose body is still to be read.
   * @throws RefusedCall for an error answer; ServiceError `service_unavailable` while the edge restarts
   */
  async send(method: Method, path: string, { headers, body }: Sent = {}): Promise<IncomingMessage> {
    const answer = await this.#exchange(method, path, { headers: { ...headers }, ...(body ? { body } : {}) });
    this.#note(answer.headers);
    if ((answer.statusCode ?? 500) < 400) return answer;
    throw new RefusedCall(errorBody.parse(JSON.parse((await readBody(answer)).toString('utf8'))).error);
  }

  async #read(method: Method, path: string, sent: Sent) {
    const answer = await this.send(method, path, sent);
    return JSON.parse((await readBody(answer)).toString('utf8'));
  }

  #exchange(method: Method, path: string, { headers, body }: Sent): Promise<IncomingMessage> {
    const { authorization, host } = this.#caller.headers;
    const context = CALLER_HEADERS.flatMap(({ name }) => {
      const value = this.#caller.headers[name.toLowerCase()];
      return value === undefined ? [] : [[name, value]];
    });
    const { localAddress, localPort } = this.#caller.raw.socket;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request({
      ...{ method, path, host: localAddress, port: localPort, signal: this.#signal },
      // Addresses in answers are those that the caller can reach.
      headers: { ...headers, ...Object.fromEntries(context), authorization, host },
    });
    const fail = (cause: Error) => reject(this.#signal.aborted ? this.#signal.reason : restarting(cause));
    sent.once('error', fail).once('response', resolve);
    if (body instanceof Readable) pipeline(body, sent).catch(fail);
    else sent.end(body);
    return promise;
  }

  #note(headers: IncomingMessage['headers']): void {
    const cost = headers['x-service-cost'];
    if (cost !== undefined) this.#cost += Number(cost);
    if (cost !== undefined || this.#requestId === null)
      this.#requestId = headers['x-request-id']?.toString() ?? null;
  }
}

/** @throws ServiceError `body_too_large` for a longer body */
export async function readBody(answer: IncomingMessage, bytesMax = ANSWER_BYTES_MAX): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax)
      throw new ServiceError('body_too_large', `The result exceeds ${bytesMax} bytes. Use the HTTP API.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function jsonBody(body: string | Readable): Sent {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { headers: { 'content-type': 'application/json' }, body: bytes };
}

function restarting(cause: Error): ServiceError {
  return new ServiceError('service_unavailable', 'The edge restarts. Retry later.', {
    cause,
    retryAfterS: 1,
  });
}

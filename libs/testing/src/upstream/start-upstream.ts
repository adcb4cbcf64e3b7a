// A real HTTP server that speaks OpenAI's API with OpenAI's own recorded answers, keeps what it was sent, and misbehaves
// on demand: by the model's name (behaviours.ts), or by a handler of the test's own.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type Behaviour, behaviourOf } from './behaviours.ts';
import { type ChatBody, chunksFor, completionFor } from './chat-answers.ts';
import { type EmbeddingsBody, embeddingsFor } from './embedding-answers.ts';
import { FIXTURES } from './fixtures.ts';

/** One request as it came over the wire. */
export interface UpstreamRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Alternating names and values, unchanged. */
  rawHeaders: string[];
  body: Buffer;
  /** The body parsed; null if not a JSON object. */
  json: Record<string, unknown> | null;
  /** The requested model, from JSON or from a form. */
  model: string;
  /** Aborted when the client went away before the answer was complete. */
  gone: AbortSignal;
  /** Settles when the exchange is over: answered whole, or given up by either side. */
  over: Promise<'answered' | 'cut'>;
}

export type UpstreamHandler = (request: UpstreamRequest, response: ServerResponse) => void | Promise<void>;

export interface Upstream {
  /** Base URL, `/v1` included. */
  url: string;
  /** Everything received so far, in the order of arrival. */
  requests: UpstreamRequest[];
  /** The next request for a model that was not returned before: one that has arrived already, or a future one. */
  request: (model: string) => Promise<UpstreamRequest>;
  /** From now on, calls the handler for this model instead of sending recorded answers. */
  on: (model: string, handler: UpstreamHandler) => void;
  close: () => Promise<void>;
}

/** Bytes of a multipart body in which its model is looked for. */
const FORM_HEAD_BYTES = 16 * 1024;

export async function startUpstream(): Promise<Upstream> {
  const requests: UpstreamRequest[] = [];
  const handlers = new Map<string, UpstreamHandler>();
  const awaited = new Set<UpstreamRequest>();
  const arrivals = new EventEmitter().setMaxListeners(0);
  const closing = new AbortController();

  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming, response).catch(() => null);
    if (request === null) return; // the client went away while it sent its body
    requests.push(request);
    arrivals.emit('request');
    try {
      await (handlers.get(request.model) ?? answer)(request, response);
    } catch (error) {
      // An exchange may be ended by the client or the test; any other error is a fault of the test.
      if (!request.gone.aborted && !closing.signal.aborted) throw error;
    }
  });
  server.keepAliveTimeout = 120_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    on: (model, handler) => void handlers.set(model, handler),
    request: async (model) => {
      for (;;) {
        const found = requests.find((one) => one.model === model && !awaited.has(one));
        if (found) {
          awaited.add(found);
          return found;
        }
        await once(arrivals, 'request', { signal: closing.signal });
      }
    },
    close: async () => {
      closing.abort(new Error('the test upstream was closed'));
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readRequest(incoming: IncomingMessage, response: ServerResponse): Promise<UpstreamRequest> {
  const gone = new AbortController();
  const over = new Promise<'answered' | 'cut'>((resolve) => {
    response.on('close', () => {
      if (!response.writableFinished) gone.abort(new Error('the client went away'));
      resolve(response.writableFinished ? 'answered' : 'cut');
    });
  });
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const isForm = incoming.headers['content-type']?.startsWith('multipart/form-data') ?? false;
  const json = isForm ? null : parseObject(body);
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    body,
    json,
    model: isForm ? modelOfForm(body) : typeof json?.model === 'string' ? json.model : '',
    gone: gone.signal,
    over,
  };
}

/** Sends a recorded answer, with the behaviour that the model's name asks for. */
async function answer(request: UpstreamRequest, response: ServerResponse): Promise<void> {
  const { method, path, json, model, gone } = request;
  if (json === null) return sendFault(response, '400');
  const behaviour = behaviourOf(model);
  if (behaviour.latencyMs > 0) await wait(behaviour.latencyMs, undefined, { signal: gone });
  if (behaviour.fault !== null) return sendFault(response, behaviour.fault);
  if (method === 'POST' && path === '/v1/embeddings')
    return sendWhole(request, response, behaviour, embeddingsFor(json as EmbeddingsBody, behaviour));
  if (method !== 'POST' || path !== '/v1/chat/completions') return sendFault(response, '404');
  const body = json as ChatBody;
  if (body.stream === true) return sendStream(request, response, behaviour, body);
  return sendWhole(request, response, behaviour, completionFor(body, behaviour));
}

async function sendWhole(
  { gone }: UpstreamRequest,
  response: ServerResponse,
  behaviour: Behaviour,
  value: unknown,
): Promise<void> {
  const text = JSON.stringify(value);
  const half = text.slice(0, text.length / 2);
  if (behaviour.cutAfterChunks === null && behaviour.stallAfterChunks === null)
    return sendJson(response, 200, value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  await write(response, half, gone);
  if (behaviour.stallAfterChunks !== null) await untilGone(gone);
  response.destroy();
}

async function sendStream(
  { gone }: UpstreamRequest,
  response: ServerResponse,
  behaviour: Behaviour,
  body: ChatBody,
): Promise<void> {
  const end = behaviour.crlf ? '\r\n\r\n' : '\n\n';
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.flushHeaders();
  let sent = 0;
  for (const chunk of chunksFor(body, behaviour)) {
    if (sent === behaviour.stallAfterChunks) return untilGone(gone);
    if (sent === behaviour.cutAfterChunks) return void response.destroy();
    if (sent === behaviour.errorAfterChunks)
      return void response.end(`data: ${JSON.stringify(FIXTURES.errors['500'])}${end}`);
    await write(response, `data: ${JSON.stringify(chunk)}${end}`, gone);
    sent += 1;
    if (behaviour.gapMs > 0) await wait(behaviour.gapMs, undefined, { signal: gone });
  }
  response.end(`data: [DONE]${end}`);
}

/** Writes at the reader's pace. */
async function write(response: ServerResponse, text: string, gone: AbortSignal): Promise<void> {
  gone.throwIfAborted();
  if (!response.write(text)) await once(response, 'drain', { signal: gone });
}

async function untilGone(gone: AbortSignal): Promise<void> {
  if (!gone.aborted) await once(gone, 'abort');
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** `fault` is a status, or the name of a 400 in errors.json. */
function sendFault(response: ServerResponse, fault: string): void {
  const body = FIXTURES.errors[fault] ?? FIXTURES.errors['500'];
  sendJson(response, /^\d+$/.test(fault) ? Number(fault) : 400, body);
}

/** The field `model`, which precedes the file. */
function modelOfForm(body: Buffer): string {
  const head = body.toString('latin1', 0, FORM_HEAD_BYTES);
  return /name="model"\r\n\r\n([^\r]*)\r\n/.exec(head)?.[1] ?? '';
}

function parseObject(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

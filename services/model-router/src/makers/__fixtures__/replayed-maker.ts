// For contract tests: a maker's documented or recorded answers given over a real HTTP server, the adapter called as the
// router calls it, and what went over the wire kept to be looked at.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ModelType, type TranscriptionParams, upstream } from '@switchyard/contracts';
import { createEgress, parseAllowList } from '@switchyard/egress';
import { onTestFinished } from 'vitest';
import { aiSdkMaker } from '../ai-sdk/ai-sdk-maker.ts';
import { AttemptFailed, type Failure, failureOfAnswer } from '../failure.ts';
import type { CallOptions, UpstreamRequest } from '../maker.ts';
import { createMakersAgent } from '../../http/makers-agent.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

/** One answer of a maker, as its documentation or a recording has it; `{origin}` in it is the test server's address. */
export interface Fixture {
  /** Where it is from. */
  source: string;
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  /** Bytes of an answer that is no JSON. */
  base64?: string;
  /** Bytes that come one after the other, of an answer that a test makes. */
  pieces?: AsyncIterable<Uint8Array>;
}

export function fixture(folder: string, name: string): Fixture {
  return JSON.parse(readFileSync(`${folder}/__fixtures__/${name}.json`, 'utf8')) as Fixture;
}

export interface WireRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json(): Record<string, unknown>;
  form(): Promise<FormData>;
  /** Resolves when the caller has hung up before its answer, or has had it. */
  gone: Promise<unknown>;
}

export interface Outcome {
  status: number;
  /** Null for an answer; its JSON is `{ error: failure }`. */
  failure: Failure | null;
  contentType: string;
  retryAfterS: number | null;
  body: Buffer;
  json(): Record<string, unknown>;
}

export interface ReplayedMaker {
  origin: string;
  requests: WireRequest[];
  /** Calls the adapter with a body as the router hands it over. */
  call(type: ModelType, body: object, test?: TestCall): Promise<Outcome>;
  transcribe(audio: Buffer, params: Partial<TranscriptionParams>, model?: string): Promise<Outcome>;
  /** Starts a call that is ended from outside. */
  start(type: ModelType, body: object): { abort(): void; heard: string[] };
  close(): Promise<void>;
}

interface TestCall {
  model?: string;
  transcription?: TranscriptionParams;
  bytes?: Buffer;
  native?: UpstreamRequest['native'];
}

export type Answering = (request: WireRequest) => Fixture | Promise<Fixture>;

const KEY = 'a key of ours';

/** @param answering the answer to each request: a function, or fixtures in turn of which the last stays. */
export async function replayedMaker(
  declaration: MakerDeclaration,
  answering: Answering | readonly Fixture[],
): Promise<ReplayedMaker> {
  const requests: WireRequest[] = [];
  const answerOf: Answering =
    typeof answering === 'function'
      ? answering
      : () => (answering[requests.length - 1] ?? answering.at(-1)) as Fixture;
  const server = createServer((incoming, response) => {
    void serve(incoming, response);
  });
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await wireRequest(incoming, once(response, 'close'));
    requests.push(request);
    await give(await answerOf(request), response, origin);
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dispatcher = createMakersAgent();
  const egress = createEgress({ allow: parseAllowList(new URL(origin).host) });
  const maker = aiSdkMaker(declaration, {
    secret: () => KEY,
    dispatcher,
    egress,
    now: () => Date.UTC(2026, 10, 21),
  });
  const startCall = (
    type: ModelType,
    body: object,
    { model = 'a-model', transcription, bytes, native }: TestCall,
    options: CallOptions,
  ) =>
    maker.call(
      {
        type,
        upstream: upstream.parse({ adapter: declaration.name, model, base_url: origin }),
        body: bytes ?? Buffer.from(JSON.stringify({ model, ...body })),
        ...(transcription === undefined ? {} : { transcription }),
        native,
        stream: type === 'speech' || (body as { stream?: unknown }).stream === true,
        requestId: 'req_replayed',
      },
      options,
    );
  const reserve = async () => ({ keep: () => {} });
  const call = async (type: ModelType, body: object, test: TestCall = {}) => {
    const { signal } = new AbortController();
    const options = { signal, onRequest: () => {}, onAccepted: () => {}, reserve };
    try {
      const { body: chunks, ...head } = await startCall(type, body, test, options);
      const bytes = Buffer.concat(await Array.fromAsync(chunks));
      if (head.status >= 300) return failed(failureOfAnswer(head.status, bytes, head.retryAfterS));
      return outcome({ ...head, failure: null }, bytes);
    } catch (error) {
      if (error instanceof AttemptFailed) return failed(error.failure);
      throw error;
    }
  };
  return {
    origin,
    requests,
    call,
    transcribe: (audio, params, model = 'a-model') =>
      call(
        'transcription',
        {},
        {
          model,
          bytes: audio,
          transcription: { media_type: 'audio/mpeg', filename: 'audio.mp3', ...params },
        },
      ),
    start(type, body) {
      const heard: string[] = [];
      const ending = new AbortController();
      const onAccepted = () => heard.push('accepted');
      const run = async () => {
        const options = { signal: ending.signal, onRequest: () => {}, onAccepted, reserve };
        const answer = await startCall(type, body, {}, options);
        heard.push('head');
        for await (const _ of answer.body) heard.push('data');
        heard.push('end');
      };
      run().catch(() => {
        if (!ending.signal.aborted) heard.push('error');
      });
      return { abort: () => ending.abort(), heard };
    },
    async close() {
      await dispatcher.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** For the tests of one maker: reads its fixtures from `folder`, and replays them until the end of a test. */
export function replaysOf(declaration: MakerDeclaration, folder: string) {
  return {
    read: (name: string) => fixture(folder, name),
    async replay(answering: Answering | readonly Fixture[]): Promise<ReplayedMaker> {
      const maker = await replayedMaker(declaration, answering);
      onTestFinished(() => maker.close());
      return maker;
    },
  };
}

async function wireRequest(incoming: IncomingMessage, gone: Promise<unknown>): Promise<WireRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost');
  const { headers } = incoming;
  return {
    method: incoming.method ?? 'GET',
    path: pathname,
    query: searchParams,
    headers,
    body,
    gone,
    json: () => JSON.parse(body.toString('utf8')) as Record<string, unknown>,
    form: () => new Response(body, { headers: { 'content-type': headers['content-type'] ?? '' } }).formData(),
  };
}

async function give(
  { status = 200, headers = {}, json, base64, pieces }: Fixture,
  response: ServerResponse,
  origin: string,
): Promise<void> {
  const isJson = base64 === undefined && pieces === undefined;
  response.writeHead(status, { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers });
  for await (const piece of pieces ?? []) response.write(piece);
  if (isJson) response.end(JSON.stringify(json ?? {}).replaceAll('{origin}', origin));
  else response.end(Buffer.from(base64 ?? '', 'base64'));
}

function failed(failure: Failure): Outcome {
  const { retryAfterS } = failure;
  const head = { status: failure.status ?? 0, failure, contentType: 'application/json', retryAfterS };
  return outcome(head, Buffer.from(JSON.stringify({ error: failure })));
}

function outcome(head: Omit<Outcome, 'body' | 'json'>, body: Buffer): Outcome {
  return { ...head, body, json: () => JSON.parse(body.toString('utf8')) as Record<string, unknown> };
}

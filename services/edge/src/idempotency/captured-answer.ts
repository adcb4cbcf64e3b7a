// Captures the answer of a request while it is sent, whatever writes it, also after its client disconnected. The end
// waits until the answer is stored, so that a client with an answer can always get it again.
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isLimitHeader } from '../rate-limits/limit-headers.ts';

/** Headers that belong to one connection, or are set again for each answer. */
const NOT_KEPT = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date', 'content-length']);

export interface CapturedHead {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Record<string, string>;
}

interface AnswerKeeper {
  /** Takes bytes of the answer, except those of a stream; false: no more until the response emits `drain`. */
  write(piece: Buffer): boolean;
  /** Runs before the answer ends; must not throw. */
  end(head: CapturedHead): Promise<void>;
}

type Callback = (error?: Error | null) => void;
type Chunk = Uint8Array | string;

/** Begins to capture. Returns a function that tells whether the answer has ended. */
export function captureAnswer(raw: ServerResponse, keeper: AnswerKeeper): () => boolean {
  const { writeHead, write, end } = raw;
  let headers: OutgoingHttpHeaders = {};
  let ended = false;
  let isStream = false;

  raw.writeHead = (status: number, ...rest: unknown[]) => {
    const given = rest.at(-1);
    if (typeof given === 'object' && given !== null) headers = { ...(given as OutgoingHttpHeaders) };
    isStream = isEventStream(keptHeaders({ ...raw.getHeaders(), ...headers }));
    return Reflect.apply(writeHead, raw, [status, ...rest]);
  };
  raw.write = (chunk: Chunk, ...rest: unknown[]) => {
    const hasRoom = isStream || keeper.write(toBuffer(chunk));
    // A disconnected client counts as having read everything.
    const isSent = raw.destroyed || Reflect.apply(write, raw, [chunk, ...rest]);
    return hasRoom && isSent;
  };
  raw.once('close', () => {
    if (!ended) raw.emit('drain'); // wakes writers that wait for the disconnected reader
  });
  raw.end = (...given: unknown[]) => {
    const [chunk, callback] = endArguments(given);
    if (chunk !== undefined && !isStream) keeper.write(toBuffer(chunk));
    const head = { status: raw.statusCode, headers: keptHeaders({ ...raw.getHeaders(), ...headers }) };
    void keeper.end(head).then(() => {
      ended = true;
      if (raw.destroyed) callback?.();
      else Reflect.apply(end, raw, [chunk, callback]);
    });
    return raw;
  };
  return () => ended;
}

/** Whether an answer with these headers, in lower case, is a stream of events. */
export function isEventStream(headers: Record<string, string>): boolean {
  return headers['content-type']?.startsWith('text/event-stream') ?? false;
}

/**
 * Parses `end()`, `end(callback)`, `end(chunk, callback)`, `end(chunk, encoding, callback)`; all text here is UTF-8.
 */
function endArguments(given: unknown[]): [Chunk | undefined, Callback | undefined] {
  const callback = given.find((one): one is Callback => typeof one === 'function');
  const [first] = given;
  return [typeof first === 'function' ? undefined : ((first ?? undefined) as Chunk | undefined), callback];
}

function toBuffer(chunk: Chunk): Buffer {
  return typeof chunk === 'string'
    ? Buffer.from(chunk)
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

function keptHeaders(headers: OutgoingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name]) => !NOT_KEPT.has(name.toLowerCase()) && !isLimitHeader(name.toLowerCase()),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), asText(value)]));
}

function asText(value: OutgoingHttpHeader | undefined): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

// The answer of a request as it goes over the wire, kept on the side: whatever writes it, and also when its client has
// gone. Its end is held back until it has been stored: a client that has an answer can have it again.
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Bytes of an answer that are kept; a longer one passes, and is not. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Of one connection, or made anew each time. */
const NOT_KEPT = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date', 'content-length']);

export interface CapturedAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** Null where there was too much of it. */
  readonly body: Buffer | null;
}

type Callback = (error?: Error | null) => void;
type Chunk = Uint8Array | string;

export interface AnswerKeeper {
  /** Runs before the answer ends; must not throw. */
  store(answer: CapturedAnswer): Promise<void>;
  /** The answer was given up on our side; it may end all the same. */
  onDestroy(): void;
}

/** Begins to capture. Returns whether the answer has ended. */
export function captureAnswer(raw: ServerResponse, { store, onDestroy }: AnswerKeeper): () => boolean {
  const { writeHead, write, end, destroy } = raw;
  const pieces: Buffer[] = [];
  let bytes = 0;
  let headers: OutgoingHttpHeaders = {};
  let ended = false;
  const keep = (chunk: Chunk | null | undefined) => {
    if (chunk === null || chunk === undefined) return;
    const piece = Buffer.from(chunk as string); // a copy: who wrote it may use its memory again
    bytes += piece.length;
    if (bytes <= ANSWER_BYTES_MAX) pieces.push(piece);
    else pieces.length = 0;
  };

  raw.writeHead = (status: number, ...rest: unknown[]) => {
    const given = rest.at(-1);
    if (typeof given === 'object' && given !== null) headers = { ...(given as OutgoingHttpHeaders) };
    return Reflect.apply(writeHead, raw, [status, ...rest]);
  };
  raw.write = (chunk: Chunk, ...rest: unknown[]) => {
    keep(chunk);
    // Nobody is there any more: what is written is consumed at once.
    return raw.destroyed || Reflect.apply(write, raw, [chunk, ...rest]);
  };
  raw.once('close', () => {
    if (!ended) raw.emit('drain'); // whoever waits for a reader that went
  });
  raw.end = (...given: unknown[]) => {
    const [chunk, callback] = endArguments(given);
    keep(chunk);
    const answer = {
      status: raw.statusCode,
      headers: namesAndValues({ ...raw.getHeaders(), ...headers }),
      body: bytes <= ANSWER_BYTES_MAX ? Buffer.concat(pieces) : null,
    };
    void store(answer).then(() => {
      ended = true;
      if (raw.destroyed) callback?.();
      else Reflect.apply(end, raw, [chunk, callback]);
    });
    return raw;
  };
  raw.destroy = (error?: Error) => {
    onDestroy();
    return Reflect.apply(destroy, raw, [error]);
  };
  return () => ended;
}

/** `end()`, `end(callback)`, `end(chunk, callback)`, `end(chunk, encoding, callback)`: all text here is UTF-8. */
function endArguments(given: unknown[]): [Chunk | undefined, Callback | undefined] {
  const callback = given.find((one): one is Callback => typeof one === 'function');
  const [first] = given;
  return [typeof first === 'function' ? undefined : ((first ?? undefined) as Chunk | undefined), callback];
}

function namesAndValues(headers: OutgoingHttpHeaders): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !NOT_KEPT.has(name.toLowerCase()));
  return Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), asText(value)]));
}

function asText(value: OutgoingHttpHeader | undefined): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

// One type of model between OpenAI's shapes and the AI SDK's: a request in, an answer in OpenAI's shape out. Each type
// has its file beside this one (chat.ts, embed.ts, image.ts …); ai-sdk-maker.ts has the table of them.
//
// A translation does no more than that: clocks, falling back, prices and the usage event are the router's, the socket
// is provider-fetch.ts's. It answers in the shape that answers/ reads from an OpenAI-compatible upstream, with the
// maker's own counts in `usage` where it gives them.
import type { ModelType } from '@switchyard/contracts';
import type { UpstreamRequest } from '../maker.ts';
import type { ModelOfType } from './declaration.ts';

export interface TranslationRequest {
  /** The adapter's name: key of the maker's own options in `providerOptions`. */
  maker: string;
  /**
   * The caller's JSON; without `model`, `models` and `provider_options`, which are not a translation's affair. Empty for
   * a transcription: its audio is in `sent.body`, what was said beside it in `sent.transcription`.
   */
  body: Readonly<Record<string, unknown>>;
  /** What the router sends: the upstream, whether to stream, the bytes. */
  sent: UpstreamRequest;
  /** Ends the maker's request: the caller went away, or a clock ran out. */
  signal: AbortSignal;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Puts a member of the caller's body on the wire, at the top level of the maker's body, as the caller wrote it. */
  passOn(member: string): void;
}

export interface Translated {
  contentType: string;
  body: AsyncIterable<Uint8Array>;
}

/**
 * Calls the model and gives its answer; the body may come while the model makes it.
 * @throws UnsupportedField for what the maker cannot do; whatever the AI SDK throws (errors.ts knows it).
 */
export type Translation<T extends ModelType> = (
  model: ModelOfType[T],
  request: TranslationRequest,
) => Promise<Translated>;

/** A field that we know and this maker cannot serve: the caller is told, and which one. */
export class UnsupportedField extends Error {
  readonly param: string;
  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

/** An answer in one piece of JSON. */
export function jsonAnswer(value: unknown): Translated {
  return { contentType: 'application/json', body: once(Buffer.from(JSON.stringify(value))) };
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

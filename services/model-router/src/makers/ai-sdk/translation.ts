// One type of model between OpenAI's shapes and the AI SDK's: a request in, an answer in OpenAI's shape out. Each type
// has its file beside this one (chat.ts, embed.ts, image.ts …); ai-sdk-maker.ts has the table of them.
//
// A translation does no more than that: clocks, falling back, prices and the usage event are the router's, the socket
// is provider-fetch.ts's. It answers in the shape that answers/ reads from an OpenAI-compatible upstream, with the
// maker's own counts in `usage` where it gives them.
import type { ModelType } from '@switchyard/contracts';
import type { UpstreamRequest } from '../maker.ts';
import type { CallersFiles } from './callers-files.ts';
import type { MakerDeclaration, ModelOfType } from './declaration.ts';
import type { FieldRules } from './field-rules.ts';

export interface TranslationRequest {
  /** The adapter's name: key of the maker's own options in `providerOptions`. */
  maker: string;
  declaration: MakerDeclaration;
  /** What the maker makes of the caller's fields of this type. */
  rules: FieldRules;
  /**
   * The caller's JSON; without `model`, `models` and `provider_options`, which are not a translation's affair. Of a
   * transcription what was said beside the audio, which is `sent.body`.
   */
  body: Readonly<Record<string, unknown>>;
  /** What the router sends: the upstream, whether to stream, the bytes. */
  sent: UpstreamRequest;
  /** Ends the maker's request: the caller went away, or a clock ran out. */
  signal: AbortSignal;
  /** For URLs that the maker does not fetch itself. */
  files: CallersFiles;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Puts a member of the caller's body on the wire, at the top level of the maker's body, as the caller wrote it. */
  passOn(member: string): void;
  /** Puts a member of our own there, unless the caller's `provider_options` have one of that name. */
  put(member: string, value: unknown): void;
  /** Takes the maker's answers before the provider package reads them; what `look` returns is what it reads. */
  onResponse(look: (response: Response) => Response): void;
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
  constructor(param: string, message: string, options?: ErrorOptions) {
    super(message, options);
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

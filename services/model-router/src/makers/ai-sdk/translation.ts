// Converts one type of model between OpenAI's shapes and the AI SDK's. Each type has its own file beside this one
// (chat.ts, embed.ts, image.ts …); the table is in ai-sdk-maker.ts.
// Timeouts, fallback, prices and the usage event belong to the router, and the socket to provider-fetch.ts. The answer
// has the shape that answers/ reads from an OpenAI-compatible upstream, with the maker's own counts in `usage`.
import type { ModelType } from '@switchyard/contracts';
import type { UpstreamRequest } from '../maker.ts';
import type { CallersFiles } from './callers-files.ts';
import type { MakerDeclaration, ModelOfType } from './declaration.ts';
import type { FieldRules } from './field-rules.ts';

export interface TranslationRequest {
  /** The adapter's name: key of the maker's own options in `providerOptions`. */
  maker: string;
  declaration: MakerDeclaration;
  /** The rules for the caller's fields of this type. */
  rules: FieldRules;
  /**
   * The caller's JSON without `model`, `models` and `provider_options`. For a transcription, the fields beside the
   * audio; the audio is `sent.body`.
   */
  body: Readonly<Record<string, unknown>>;
  /** Names of the caller's `provider_options`, which go into the maker's request. */
  providerOptions: readonly string[];
  /** The router's request: the upstream, whether to stream, the bytes. */
  sent: UpstreamRequest;
  /** Aborts the maker's request when the caller leaves or a timeout expires. */
  signal: AbortSignal;
  /** Fetches URLs that the maker does not fetch itself. */
  files: CallersFiles;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Puts a member of the caller's body on the wire, unchanged, at the top level of the maker's body. */
  passOn(member: string): void;
  /** Puts our own member there, unless the caller's `provider_options` have one with that name. */
  put(member: string, value: unknown): void;
  /** Intercepts the maker's answers; the provider package reads what `look` returns. */
  onResponse(look: (response: Response) => Response): void;
}

export interface Translated {
  contentType: string;
  body: AsyncIterable<Uint8Array>;
}

/**
 * Calls the model and returns its answer; the body may be streamed while the model produces it.
 * @throws UnsupportedField for a field that the maker does not support; any AI SDK error (see errors.ts).
 */
export type Translation<T extends ModelType> = (
  model: ModelOfType[T],
  request: TranslationRequest,
) => Promise<Translated>;

/** A known field that this maker does not support; the error names it for the caller. */
export class UnsupportedField extends Error {
  readonly param: string;
  /** @param why what is wrong, and what to do */
  constructor(param: string, why: string, options?: ErrorOptions) {
    super(`${param}: ${why}`, options);
    this.param = param;
  }
}

/** The request has a value that our conversion or the provider package fails on, before anything is sent. */
export class UnfitRequest extends Error {
  constructor(cause: unknown) {
    super('A request value has a wrong type or form. Check the fields against the documentation.', {
      cause,
    });
  }
}

/** The reason when there is no better advice. */
export const NOT_SUPPORTED = 'This model does not support this field. Remove it.';

/** An answer as one JSON body. */
export function jsonAnswer(value: unknown): Translated {
  return { contentType: 'application/json', body: once(Buffer.from(JSON.stringify(value))) };
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

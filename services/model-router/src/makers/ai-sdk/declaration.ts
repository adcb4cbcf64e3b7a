// Declaration of a maker's adapter: its model types, base URL and key, and how the AI SDK's provider package creates a
// model of each type.
import type {
  Experimental_DecisionModelV4 as DecisionModelV4,
  EmbeddingModelV3,
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  RerankingModelV3,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import type { Dialect, ModelType, Upstream } from '@switchyard/contracts';
import type { ConnectedDeps } from '../maker.ts';
import type { ChatOptions } from './chat/chat-options.ts';
import type { FieldRules } from './field-rules.ts';

/** The AI SDK's interface for each of our types. */
export interface ModelOfType {
  language: LanguageModelV4;
  image: ImageModelV4;
  /** Only the members that a job needs. */
  video: Pick<VideoModelV4, 'modelId' | 'doStart' | 'doStatus'>;
  speech: SpeechModelV4;
  transcription: TranscriptionModelV4;
  embedding: EmbeddingModelV4 | EmbeddingModelV3;
  decision: DecisionModelV4;
  rerank: RerankingModelV4 | RerankingModelV3;
}

/** Creates a model from the upstream's model name. */
export type Models = { readonly [T in ModelType]?: (modelId: string) => ModelOfType[T] };

/** Settings for every provider package; one set per call, since the fetch belongs to the call. */
export interface ProviderSettings {
  baseURL: string;
  apiKey: string;
  fetch: typeof globalThis.fetch;
}

export interface MakerDeclaration extends MemberPlaces {
  /** `adapter` in the catalog, and the key of the maker's own options in the AI SDK's `providerOptions`. */
  readonly name: string;
  readonly types: readonly ModelType[];
  /** The maker's base URL, unless the catalog sets another. */
  readonly baseUrl: string;
  /** The variable that holds our key, unless the catalog names another. */
  readonly apiKeyEnv: string;
  /**
   * For video makers: the provider package takes resolutions as sizes in 16:9 and converts them to names (`720p`), for
   * any aspect ratio.
   */
  readonly namesResolutions?: true;
  /** The maker's own names of members that set the price, each with our field's name: `{ cap: 'max_tokens' }`. */
  readonly priced?: Readonly<Record<string, string>>;
  /** How the maker treats our fields, by type. */
  readonly fields?: { readonly [T in ModelType]?: FieldRules };
  /** Dialects that the maker speaks: requests in them pass through. */
  readonly native?: { readonly [D in Dialect]?: NativeEndpoint };
  /** For makers of language models; by the upstream's model name if its models differ. */
  readonly chat?: ChatOptions | ((model: string) => ChatOptions);
  /** Imports the provider package at the first call, so that a router starts without it. */
  create(settings: ProviderSettings): Promise<Models>;
}

/** Places of the caller's members in the maker's request; by default the top level of the body. */
export interface MemberPlaces {
  /**
   * Objects in the maker's request body with settings that other makers have at the top level (Google's
   * `generationConfig`). The caller's members are merged into ours there; elsewhere they replace ours.
   */
  readonly containers?: readonly string[] | undefined;
  /**
   * Lists in the maker's request body whose elements are separate requests (Google's `requests`). The caller's members
   * are added to each element, not beside the list.
   */
  readonly repeated?: readonly string[] | undefined;
  /** The maker reads settings from the query; the body is only the text or the audio. */
  readonly settingsInQuery?: boolean | undefined;
}

/** Where and how a maker takes requests in a dialect. */
interface NativeEndpoint {
  /** Path below the base URL. */
  readonly path: string;
  headers(apiKey: string): Record<string, string>;
}

export function chatOptionsOf({ chat = {} }: MakerDeclaration, model: string): ChatOptions {
  return typeof chat === 'function' ? chat(model) : chat;
}

/** The maker's models for one call. */
export function modelsOf(
  { baseUrl, apiKeyEnv, create }: MakerDeclaration,
  upstream: Upstream,
  { secret, fetch }: Pick<ConnectedDeps, 'secret'> & Pick<ProviderSettings, 'fetch'>,
): Promise<Models> {
  return create({
    baseURL: (upstream.base_url ?? baseUrl).replace(/\/$/, ''),
    apiKey: secret(upstream.api_key_env ?? apiKeyEnv) ?? '',
    fetch,
  });
}

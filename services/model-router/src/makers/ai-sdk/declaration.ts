// Declaration of a maker's adapter: its model types, base URL and key, and how the AI SDK's provider package creates a
// model of each type.
import type {
  Experimental_DecisionModelV4 as DecisionModelV4,
  EmbeddingModelV3,
  EmbeddingModelV4,
  ImageModelV4,
  JSONObject,
  LanguageModelV4,
  LanguageModelV4FinishReason,
  RerankingModelV3,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import type { Dialect, ModelType, Upstream } from '@switchyard/contracts';
import type { ConnectedDeps } from '../maker.ts';
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
  headers: Record<string, string>;
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
  /** The maker's own names for what selects or prices the work, each with that of our field: `{ cap: 'max_tokens' }`. */
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

/** Chat options in which a maker differs. */
export interface ChatOptions {
  /**
   * OpenAI fields that the maker's own body has with the same name and shape. They are sent unchanged, and the maker
   * validates them.
   */
  readonly onWire?: readonly string[];
  /** The fewest output tokens that the maker takes as a limit. */
  readonly outputTokensMin?: number;
  /** Members of the maker's own body that callers may not set, and what to do instead. */
  readonly refused?: { readonly [member: string]: string };
  /** Fields for which the provider package has its own option, instead of or beside the AI SDK's setting. */
  readonly options?: { readonly [field: string]: (value: unknown) => JSONObject };
  /** Options of the provider package, unless the caller's fields say otherwise. */
  readonly defaults?: JSONObject;
  /** The provider package adds tokens for thinking to the limit of output tokens (chat/thinking-within.ts). */
  readonly addedThinking?: {
    /** The tokens that it adds, from the body that it would send; null: none. */
    tokensIn(body: unknown): number | null;
    /** The fewest that the maker accepts. */
    readonly tokensMin: number;
    /** Its option for a number of tokens. */
    optionFor(tokens: number): JSONObject;
  };
  /** The maker has system messages only before all others; later ones are sent as text of the user. */
  readonly systemFirst?: boolean;
  /** The maker accepts the name of a message's author (`name`). */
  readonly messageNames?: boolean;
  /** The maker fetches images from any URL, although its provider package does not declare it. */
  readonly imageUrls?: boolean;
  /** The provider package's option for OpenAI's `image_url.detail`. */
  readonly imageDetail?: string;
  /** The maker accepts cache marks on parts (`cache_control`). */
  readonly cacheControl?: boolean;
  /** Reads the finish reason from the body when it is more precise than the provider package's. */
  readonly finishOf?: (body: unknown) => LanguageModelV4FinishReason | undefined;
  /** Of the tokens written to the maker's cache, those kept for an hour. */
  readonly cacheWrites1h?: (usage: JSONObject) => number;
  /** The tokens that the maker charges, if they differ from its token counts. */
  readonly billedTokens?: (usage: JSONObject) => { input?: number; output?: number } | undefined;
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
    headers: {},
    fetch,
  });
}

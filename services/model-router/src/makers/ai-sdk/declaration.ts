// What a maker's adapter declares: the types of model it serves, where, under which key, and how the AI SDK's provider
// package makes a model of each type.
import type {
  Experimental_DecisionModelV4 as DecisionModelV4,
  EmbeddingModelV4,
  ImageModelV4,
  JSONObject,
  LanguageModelV4,
  LanguageModelV4FinishReason,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import type { ModelType } from '@switchyard/contracts';
import type { FieldRules } from './field-rules.ts';

/** The AI SDK's interface of each of our types. */
export interface ModelOfType {
  language: LanguageModelV4;
  image: ImageModelV4;
  /** As far as a job is made with it. */
  video: Pick<VideoModelV4, 'modelId' | 'doStart' | 'doStatus'>;
  speech: SpeechModelV4;
  transcription: TranscriptionModelV4;
  embedding: EmbeddingModelV4;
  decision: DecisionModelV4;
  rerank: RerankingModelV4;
}

/** Makes a model by the upstream's own name for it. */
export type Models = { readonly [T in ModelType]?: (modelId: string) => ModelOfType[T] };

/** What every provider package is made with; for one call, since the fetch belongs to the call. */
export interface ProviderSettings {
  baseURL: string;
  apiKey: string;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
}

export interface MakerDeclaration {
  /** `adapter` in the catalog, and the key of the maker's own options in the AI SDK's `providerOptions`. */
  readonly name: string;
  readonly types: readonly ModelType[];
  /** Where the maker is, unless the catalog says otherwise. */
  readonly baseUrl: string;
  /** The variable that holds our key, unless the catalog says otherwise. */
  readonly apiKeyEnv: string;
  /**
   * Objects in the maker's request body that hold settings which others would have at its top level (Google's
   * `generationConfig`): the caller's members go into ours there, where elsewhere they take the place of ours.
   */
  readonly containers?: readonly string[];
  /**
   * Lists in the maker's request body whose elements are requests of their own (Google's `requests`): the caller's
   * members go into each of them, and not beside the list.
   */
  readonly repeated?: readonly string[];
  /** The maker takes its settings in the address, beside a body that is the text or the sound itself. */
  readonly settingsInQuery?: boolean;
  /**
   * Of makers of videos: the provider package knows resolutions as sizes in 16:9 and turns them back into names (`720p`),
   * whatever the ratio is.
   */
  readonly namesResolutions?: true;
  /** What it makes of our fields, by type. */
  readonly fields?: { readonly [T in ModelType]?: FieldRules };
  /** Of makers of language models. */
  readonly chat?: ChatHabits;
  /** Imports the provider package, at the first call: a router starts without them. */
  create(settings: ProviderSettings): Promise<Models>;
}

/** Where a maker differs in what a chat may ask of it. */
export interface ChatHabits {
  /**
   * Fields of OpenAI's that the maker's own body has under the same name and in the same shape: they go onto the wire as
   * the caller wrote them, and it is the maker who judges them.
   */
  readonly onWire?: readonly string[];
  /** Fields that the maker's provider package has an option of its own for. */
  readonly options?: { readonly [field: string]: (value: unknown) => JSONObject };
  /** Options of the provider package, unless the caller's fields say otherwise. */
  readonly defaults?: JSONObject;
  /** Messages may say who of several participants speaks (`name`). */
  readonly messageNames?: boolean;
  /** The maker fetches images from any URL, though its provider package does not say so. */
  readonly imageUrls?: boolean;
  /** The provider package's option for OpenAI's `image_url.detail`. */
  readonly imageDetail?: string;
  /** Parts may be marked for the maker's cache (`cache_control`). */
  readonly cacheControl?: boolean;
  /** Why an answer ended, where its body says more of it than its provider package tells. */
  readonly finishOf?: (body: unknown) => LanguageModelV4FinishReason | undefined;
  /** Of the tokens written to the maker's cache, those that are kept for an hour. */
  readonly cacheWrites1h?: (usage: JSONObject) => number;
  /** The tokens that the maker charges for, where they are others than those that it counts. */
  readonly billedTokens?: (usage: JSONObject) => { input?: number; output?: number } | undefined;
}

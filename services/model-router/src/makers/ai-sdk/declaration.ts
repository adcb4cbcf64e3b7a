// What a maker's adapter declares: the types of model it serves, where, under which key, and how the AI SDK's provider
// package makes a model of each type.
import type {
  Experimental_DecisionModelV4 as DecisionModelV4,
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import type { ModelType } from '@switchyard/contracts';

/** The AI SDK's interface of each of our types. */
export interface ModelOfType {
  language: LanguageModelV4;
  image: ImageModelV4;
  video: VideoModelV4;
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
  /** Imports the provider package, at the first call: a router starts without them. */
  create(settings: ProviderSettings): Promise<Models>;
}

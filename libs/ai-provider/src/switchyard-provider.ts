// The provider: Switchyard's address and key, and a model of each kind by its id.
import type {
  Experimental_DecisionModelV4 as DecisionModelV4,
  LanguageModelV4,
  ProviderV4,
  RerankingModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import { type FetchFunction, loadApiKey, withoutTrailingSlash } from '@ai-sdk/provider-utils';
import type { ApiAccess } from './call-api.ts';
import { SwitchyardDecisionModel } from './decision-model.ts';
import { SwitchyardEmbeddingModel } from './embedding-model.ts';
import { SwitchyardImageModel } from './image-model.ts';
import { languageModel } from './language-model.ts';
import { SwitchyardRerankingModel } from './reranking-model.ts';
import { SwitchyardSpeechModel } from './speech-model.ts';
import { SwitchyardTranscriptionModel } from './transcription-model.ts';
import { SwitchyardVideoModel } from './video-model.ts';

const BASE_URL_DEFAULT = 'http://127.0.0.1:8080/v1';

export interface SwitchyardSettings {
  /** Includes `/v1`. Default: a Switchyard on this machine. */
  readonly baseURL?: string;
  /** Default: the environment variable SWITCHYARD_KEY. */
  readonly apiKey?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the global `fetch`. */
  readonly fetch?: FetchFunction;
}

/** A model id is `<maker>/<model_name>`, as GET /v1/models lists them. */
export interface SwitchyardProvider extends ProviderV4 {
  (modelId: string): LanguageModelV4;
  speechModel(modelId: string): SpeechModelV4;
  transcriptionModel(modelId: string): TranscriptionModelV4;
  rerankingModel(modelId: string): RerankingModelV4;
  decisionModel(modelId: string): DecisionModelV4;
  videoModel(modelId: string): VideoModelV4;
}

/**
 * Switchyard as a provider of the AI SDK. Creating it makes no request and reads no key; calling a model does.
 *
 * `providerOptions.switchyard` of a call is merged into the body unchanged: `models` (fallbacks), `provider_options`,
 * and any other field of the endpoint. `providerMetadata.switchyard.cost` of the result is the cost in US dollars.
 */
export function createSwitchyard(settings: SwitchyardSettings = {}): SwitchyardProvider {
  const access: ApiAccess = {
    baseURL: withoutTrailingSlash(settings.baseURL) ?? BASE_URL_DEFAULT,
    headers: () => ({
      authorization: `Bearer ${loadApiKey({
        apiKey: settings.apiKey,
        environmentVariableName: 'SWITCHYARD_KEY',
        description: 'Switchyard',
      })}`,
      ...settings.headers,
    }),
    fetch: settings.fetch,
  };
  const chat = (modelId: string) => languageModel(access, modelId);
  return Object.assign(chat, {
    specificationVersion: 'v4' as const,
    languageModel: chat,
    embeddingModel: (modelId: string) => new SwitchyardEmbeddingModel(access, modelId),
    imageModel: (modelId: string) => new SwitchyardImageModel(access, modelId),
    speechModel: (modelId: string) => new SwitchyardSpeechModel(access, modelId),
    transcriptionModel: (modelId: string) => new SwitchyardTranscriptionModel(access, modelId),
    rerankingModel: (modelId: string) => new SwitchyardRerankingModel(access, modelId),
    decisionModel: (modelId: string) => new SwitchyardDecisionModel(access, modelId),
    videoModel: (modelId: string) => new SwitchyardVideoModel(access, modelId),
  });
}

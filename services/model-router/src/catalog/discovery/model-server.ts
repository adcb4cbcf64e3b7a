// A server that lists its own models, and their catalog entries.
import { type CatalogModel, catalogModel, type ModelType } from '@switchyard/contracts';

/** Maximum models read from one server. */
export const MODELS_PER_SERVER_MAX = 500;

export interface ModelServer {
  /** Also the maker in the ids of its models: `ollama/llama3.2:latest`. */
  readonly name: string;
  readonly url: string;
  /** Its current models; throws when the query fails. */
  list(signal: AbortSignal): Promise<CatalogModel[]>;
}

/** Dollars per token, as decimal strings. */
export interface TokenPrices {
  input: string;
  output: string;
}

export interface FoundModel {
  /** The server's own name for the model. */
  name: string;
  type: ModelType;
  description: string;
  inputs: string[];
  contextLength: number | undefined;
  limits: Record<string, unknown>;
  supportedParameters: string[];
}

interface FoundAt {
  maker: string;
  /** Base URL of its OpenAI-compatible endpoints. */
  baseUrl: string;
  prices: TokenPrices;
  apiKeyEnv: string | undefined;
}

/** A local model may have to be loaded from disk before its first token. */
const FIRST_BYTE_TIMEOUT_MS = 180_000;
const ATTEMPT_TIMEOUT_MS = 570_000;

const OUTPUTS: Partial<Record<ModelType, string>> = {
  language: 'text',
  embedding: 'embedding',
  rerank: 'ranking',
};

/** The catalog entry of a model; null when its name is not a valid id. */
export function catalogEntry(found: FoundModel, at: FoundAt): CatalogModel | null {
  const { input, output } = at.prices;
  const entry = catalogModel.safeParse({
    id: `${at.maker}/${found.name}`,
    type: found.type,
    name: found.name,
    description: found.description,
    modalities: { input: found.inputs, output: [OUTPUTS[found.type] ?? 'text'] },
    ...(found.contextLength === undefined ? {} : { context_length: found.contextLength }),
    limits: found.limits,
    supported_parameters: found.supportedParameters,
    pricing: { input_token: input, ...(found.type === 'language' ? { output_token: output } : {}) },
    upstreams: [
      {
        adapter: 'openai-compatible',
        base_url: at.baseUrl,
        model: found.name,
        ...(at.apiKeyEnv === undefined ? {} : { api_key_env: at.apiKeyEnv }),
        first_byte_timeout_ms: FIRST_BYTE_TIMEOUT_MS,
        attempt_timeout_ms: ATTEMPT_TIMEOUT_MS,
      },
    ],
  });
  return entry.success ? entry.data : null;
}

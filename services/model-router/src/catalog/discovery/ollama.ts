// Ollama lists its models at `/api/tags`, and their abilities and context at `/api/show`. Its OpenAI-compatible
// endpoints are under `/v1`.
import type { CatalogModel } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { z } from 'zod';
import { type AskOptions, askServer, NoAnswer } from './ask-server.ts';
import {
  catalogEntry,
  type FoundModel,
  MODELS_PER_SERVER_MAX,
  type ModelServer,
  type TokenPrices,
} from './model-server.ts';

const tags = z.object({
  models: z.array(z.object({ name: z.string(), digest: z.string().nullish() })).nullish(),
});

const details = z
  .object({
    family: z.string().nullish(),
    families: z.array(z.string()).nullish(),
    parameter_size: z.string().nullish(),
    quantization_level: z.string().nullish(),
  })
  .nullish();

const card = z.object({
  details,
  model_info: z.record(z.string(), z.unknown()).nullish(),
  /** Missing before Ollama 0.6.4. */
  capabilities: z.array(z.string()).nullish(),
});
type Card = z.infer<typeof card>;

interface OllamaOptions extends Omit<AskOptions, 'signal'> {
  url: string;
  prices: TokenPrices;
  apiKeyEnv: string | undefined;
  logger: Logger;
}

interface Known {
  /** Missing when the server states none or the card cannot be read: the model is queried again. */
  digest?: string | null | undefined;
  /** Null for a model that is not served. */
  entry: CatalogModel | null;
  isBroken: boolean;
}

export function ollamaServer({ url, prices, apiKeyEnv, logger, ...ask }: OllamaOptions): ModelServer {
  const root = url.replace(/\/+$/, '');
  /** Models by name; one with an unchanged digest is not queried again. */
  let known = new Map<string, Known>();

  const readModel = async (name: string, digest: Known['digest'], signal: AbortSignal): Promise<Known> => {
    const before = known.get(name);
    if (digest && before?.digest === digest) return before;
    try {
      const read = await askServer(`${root}/api/show`, card, { ...ask, signal }, { model: name });
      const found = readCard(name, read);
      const entry =
        found && catalogEntry(found, { maker: 'ollama', baseUrl: `${root}/v1`, prices, apiKeyEnv });
      return { digest, entry, isBroken: false };
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      // Logged once, not every minute.
      if (!before?.isBroken)
        logger.warn({ url, model: name, failure: (error as Error).message }, 'a model card cannot be read');
      return { entry: before?.entry ?? null, isBroken: true };
    }
  };

  return {
    name: 'ollama',
    url: root,
    async list(signal) {
      const { models } = await askServer(`${root}/api/tags`, tags, { ...ask, signal });
      const now: typeof known = new Map();
      for (const { name, digest } of (models ?? []).slice(0, MODELS_PER_SERVER_MAX))
        now.set(name, await readModel(name, digest, signal));
      known = now;
      return [...now.values()].flatMap(({ entry }) => entry ?? []);
    },
  };
}

/** Null for a model that neither chats nor embeds. */
function readCard(name: string, { details: about, model_info: info, capabilities }: Card): FoundModel | null {
  const can = new Set(capabilities ?? guess(about?.families ?? [about?.family ?? '']));
  const architecture = String(info?.['general.architecture'] ?? '');
  const contextLength = wholeNumber(info?.[`${architecture}.context_length`]);
  const dimensions = wholeNumber(info?.[`${architecture}.embedding_length`]);
  const description = [about?.parameter_size, about?.quantization_level].filter(Boolean).join(', ');
  const common = { name, description: `On your own Ollama. ${description}`.trim(), contextLength };
  if (can.has('completion'))
    return {
      ...common,
      type: 'language',
      inputs: ['text', ...(can.has('vision') ? ['image'] : [])],
      limits: {},
      supportedParameters: [
        'max_tokens',
        'temperature',
        'top_p',
        'stop',
        'seed',
        'response_format',
        ...(can.has('tools') ? ['tools'] : []),
        ...(can.has('thinking') ? ['reasoning_effort'] : []),
      ],
    };
  if (can.has('embedding'))
    return {
      ...common,
      type: 'embedding',
      inputs: ['text'],
      limits: dimensions === undefined ? {} : { dimensions },
      supportedParameters: ['dimensions', 'encoding_format'],
    };
  return null;
}

/** BERT and related families embed and do not chat. */
function guess(families: string[]): string[] {
  return families.some((family) => family.includes('bert')) ? ['embedding'] : ['completion'];
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

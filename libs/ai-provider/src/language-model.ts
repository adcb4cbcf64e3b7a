// Chat: uses the SDK's model for OpenAI's protocol and reads the cost from the usage.
import type { LanguageModelV4, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { dollars } from '@switchyard/contracts';
import { z } from 'zod';
import { type ApiAccess, costMetadata, ERROR_STRUCTURE, NAME } from './call-api.ts';
import { ReasoningChatModel } from './reasoning-chat-model.ts';

const withCost = z.looseObject({ usage: z.looseObject({ cost: dollars }) });

export function languageModel(access: ApiAccess, modelId: string): LanguageModelV4 {
  return new ReasoningChatModel(modelId, {
    provider: `${NAME}.chat`,
    url: ({ path }) => access.baseURL + path,
    headers: () => access.headers(),
    ...(access.fetch ? { fetch: access.fetch } : {}),
    includeUsage: true,
    supportsStructuredOutputs: true,
    errorStructure: ERROR_STRUCTURE,
    metadataExtractor: {
      extractMetadata: async ({ parsedBody }) => costIn(parsedBody),
      createStreamExtractor: () => {
        let last: SharedV4ProviderMetadata | undefined;
        return {
          processChunk: (chunk) => {
            last = costIn(chunk) ?? last;
          },
          buildMetadata: () => last,
        };
      },
    },
  });
}

function costIn(answer: unknown): SharedV4ProviderMetadata | undefined {
  const { success, data } = withCost.safeParse(answer);
  return success ? costMetadata(data.usage.cost) : undefined;
}

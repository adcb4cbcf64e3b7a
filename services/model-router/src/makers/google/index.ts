// Google's Gemini API: text and images by generateContent, videos (Veo), embeddings, decisions.
import { z } from 'zod';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { NO_SIZE } from '../ai-sdk/image.ts';

export const google: MakerDeclaration = {
  name: 'google',
  types: ['language', 'image', 'video', 'embedding', 'decision'],
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  apiKeyEnv: 'GOOGLE_GENERATIVE_AI_API_KEY',
  containers: ['generationConfig'],
  repeated: ['requests'],
  priced: { candidateCount: 'n', sampleCount: 'n', sampleImageSize: 'size' },
  namesResolutions: true,
  chat: {
    systemFirst: true,
    audioTokens: ({ promptTokensDetails, toolUsePromptTokensDetails, cacheTokensDetails }) => ({
      input: soundIn(promptTokensDetails) + soundIn(toolUsePromptTokensDetails),
      cached: soundIn(cacheTokensDetails),
    }),
  },
  fields: { image: { refused: { size: NO_SIZE } } },
  async create(settings) {
    const { createGoogle } = await import('@ai-sdk/google');
    const maker = createGoogle(settings);
    return {
      language: (id) => maker.languageModel(id),
      image: (id) => maker.imageModel(id),
      video: (id) => maker.videoModel(id),
      embedding: (id) => maker.embeddingModel(id),
      decision: (id) => maker.decisionModel(id),
    };
  },
};

const tokensByModality = z.array(z.object({ modality: z.string(), tokenCount: z.int().nonnegative() }));

/** Google counts tokens by modality; the sound of a video counts as audio. */
function soundIn(details: unknown): number {
  const counts = tokensByModality.safeParse(details).data ?? [];
  return counts.reduce((sum, { modality, tokenCount }) => sum + (modality === 'AUDIO' ? tokenCount : 0), 0);
}

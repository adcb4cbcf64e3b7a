// Mistral's chat completions.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const mistral: MakerDeclaration = {
  name: 'mistral',
  types: ['language'],
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyEnv: 'MISTRAL_API_KEY',
  async create(settings) {
    const { createMistral } = await import('@ai-sdk/mistral');
    const maker = createMistral(settings);
    return { language: (id) => maker.languageModel(id) };
  },
};

// xAI, by its Responses API: the only one that its provider package speaks.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const xai: MakerDeclaration = {
  name: 'xai',
  types: ['language'],
  baseUrl: 'https://api.x.ai/v1',
  apiKeyEnv: 'XAI_API_KEY',
  async create(settings) {
    const { createXai } = await import('@ai-sdk/xai');
    const maker = createXai(settings);
    return { language: (id) => maker.languageModel(id) };
  },
};

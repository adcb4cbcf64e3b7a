// OpenAI, by its chat completions: of its two APIs the one whose request and answer are ours.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const openai: MakerDeclaration = {
  name: 'openai',
  types: ['language'],
  baseUrl: 'https://api.openai.com/v1',
  apiKeyEnv: 'OPENAI_API_KEY',
  async create(settings) {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const maker = createOpenAI(settings);
    return { language: (id) => maker.chat(id) };
  },
};

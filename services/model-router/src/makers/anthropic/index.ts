// Anthropic's Messages API.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { chat } from './chat.ts';

export const anthropic: MakerDeclaration = {
  name: 'anthropic',
  types: ['language'],
  baseUrl: 'https://api.anthropic.com/v1',
  apiKeyEnv: 'ANTHROPIC_API_KEY',
  chat,
  native: {
    messages: {
      path: '/messages',
      headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
    },
  },
  async create(settings) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const maker = createAnthropic(settings);
    return { language: (id) => maker.languageModel(id) };
  },
};

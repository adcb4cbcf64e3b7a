// Google's Gemini API (generateContent).
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const google: MakerDeclaration = {
  name: 'google',
  types: ['language'],
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  apiKeyEnv: 'GOOGLE_GENERATIVE_AI_API_KEY',
  containers: ['generationConfig'],
  async create(settings) {
    const { createGoogle } = await import('@ai-sdk/google');
    const maker = createGoogle(settings);
    return { language: (id) => maker.languageModel(id) };
  },
};

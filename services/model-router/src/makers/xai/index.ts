// xAI: text by its Responses API, the only one that its provider package supports; images; videos.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { NO_SEED, NO_SIZE } from '../ai-sdk/image.ts';
import { chat } from './chat.ts';

export const xai: MakerDeclaration = {
  name: 'xai',
  types: ['language', 'image', 'video'],
  baseUrl: 'https://api.x.ai/v1',
  apiKeyEnv: 'XAI_API_KEY',
  chat,
  namesResolutions: true,
  fields: {
    image: {
      refused: { size: NO_SIZE, seed: NO_SEED },
      sent: { quality: 'quality', output_format: 'output_format', user: 'user' },
    },
  },
  async create(settings) {
    const { createXai } = await import('@ai-sdk/xai');
    const maker = createXai(settings);
    return {
      language: (id) => maker.languageModel(id),
      image: (id) => maker.imageModel(id),
      video: (id) => maker.videoModel(id),
    };
  },
};

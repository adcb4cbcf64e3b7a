// fal: images of many makers' models, each under its path (`fal-ai/flux/schnell`).
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

export const fal: MakerDeclaration = {
  name: 'fal',
  types: ['image'],
  baseUrl: 'https://fal.run',
  apiKeyEnv: 'FAL_KEY',
  fields: {
    image: { sent: { output_format: 'output_format', quality: 'quality', background: 'background' } },
  },
  async create(settings) {
    const { createFal } = await import('@ai-sdk/fal');
    const maker = createFal(settings);
    return { image: (id) => maker.imageModel(id) };
  },
};

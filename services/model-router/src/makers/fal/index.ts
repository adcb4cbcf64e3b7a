// fal: images and videos of many makers' models, each under its path (`fal-ai/flux/schnell`). Videos wait in its queue.
import { atBaseUrl } from '../ai-sdk/at-base-url.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';

const BASE_URL = 'https://fal.run';
const QUEUE = 'https://queue.fal.run';

export const fal: MakerDeclaration = {
  name: 'fal',
  types: ['image', 'video'],
  baseUrl: BASE_URL,
  apiKeyEnv: 'FAL_KEY',
  fields: {
    image: { sent: { output_format: 'output_format', quality: 'quality', background: 'background' } },
    video: { sent: { resolution: 'resolution', generate_audio: 'generate_audio' } },
  },
  async create(settings) {
    const { createFal } = await import('@ai-sdk/fal');
    const maker = createFal(settings);
    // The package has no setting for the address of the queue.
    const ownQueue = settings.baseURL === BASE_URL ? settings.fetch : atBaseUrl(QUEUE, settings);
    const queue = createFal({ ...settings, fetch: ownQueue });
    return { image: (id) => maker.imageModel(id), video: (id) => queue.videoModel(id) };
  },
};

// Luma: images of the Photon models. A generation is started and polled until it is completed.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { NO_SEED, NO_SIZE } from '../ai-sdk/image.ts';
import { jobTimes } from '../ai-sdk/job-times.ts';

export const luma: MakerDeclaration = {
  name: 'luma',
  types: ['image'],
  baseUrl: 'https://api.lumalabs.ai',
  apiKeyEnv: 'LUMA_API_KEY',
  fields: {
    image: {
      refused: { size: NO_SIZE, seed: NO_SEED },
      sent: { output_format: 'format' },
      options: {
        luma: { pollIntervalMillis: jobTimes.intervalMs, maxPollAttempts: jobTimes.attemptsMax },
      },
    },
  },
  async create(settings) {
    const { createLuma } = await import('@ai-sdk/luma');
    const maker = createLuma(settings);
    return { image: (id) => maker.imageModel(id) };
  },
};

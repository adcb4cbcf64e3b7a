// Black Forest Labs: images of the FLUX models. A job is started and polled until it is ready.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { sizeOf } from '../ai-sdk/image.ts';
import { jobTimes } from '../ai-sdk/job-times.ts';
import { refusedJobs } from './refused-jobs.ts';

export const blackForestLabs: MakerDeclaration = {
  name: 'black-forest-labs',
  types: ['image'],
  baseUrl: 'https://api.bfl.ai/v1',
  apiKeyEnv: 'BFL_API_KEY',
  fields: {
    image: {
      // Not through the AI SDK, which would also send an aspect ratio.
      sent: { size: sizeOf, output_format: 'output_format' },
      options: {
        blackForestLabs: {
          pollIntervalMillis: jobTimes.intervalMs,
          pollTimeoutMillis: jobTimes.timeoutMs,
        },
      },
    },
  },
  async create(settings) {
    const { createBlackForestLabs } = await import('@ai-sdk/black-forest-labs');
    const maker = createBlackForestLabs({ ...settings, fetch: refusedJobs(settings.fetch) });
    return { image: (id) => maker.imageModel(id) };
  },
};

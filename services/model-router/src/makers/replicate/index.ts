// Replicate: images and videos of many makers' models (`black-forest-labs/flux-schnell`). A prediction is started and
// polled until it is done. The model's settings and the caller's `provider_options.input` are under `input`.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { jobTimes } from '../ai-sdk/job-times.ts';

export const replicate: MakerDeclaration = {
  name: 'replicate',
  types: ['image', 'video'],
  baseUrl: 'https://api.replicate.com/v1',
  apiKeyEnv: 'REPLICATE_API_TOKEN',
  containers: ['input'],
  fields: {
    image: {
      options: {
        replicate: { pollIntervalMillis: jobTimes.intervalMs, maxPollAttempts: jobTimes.attemptsMax },
      },
    },
  },
  async create(settings) {
    const { createReplicate } = await import('@ai-sdk/replicate');
    const { apiKey: apiToken, ...rest } = settings;
    const maker = createReplicate({ ...rest, apiToken });
    return { image: (id) => maker.imageModel(id), video: (id) => maker.videoModel(id) };
  },
};

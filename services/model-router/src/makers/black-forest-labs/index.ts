// Black Forest Labs: images of the FLUX models. A job is started and polled until it is ready.
import { z } from 'zod';
import { ContentRefused } from '../ai-sdk/content-refused.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { sizeOf } from '../ai-sdk/image.ts';
import { jobTimes } from '../ai-sdk/job-times.ts';

const state = z.object({ status: z.enum(['Request Moderated', 'Content Moderated']) });

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

/**
 * A fetch that throws ContentRefused for a job that moderation stopped. The provider package would poll it until the
 * timeout, or does not know the state.
 */
function refusedJobs(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || !response.headers.get('content-type')?.startsWith('application/json'))
      return response;
    const text = await response.text();
    const refused = state.safeParse(parsed(text));
    if (refused.success) throw new ContentRefused(`the maker refused the content: ${refused.data.status}`);
    return new Response(text, { status: response.status, headers: response.headers });
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the provider package reports the error
  }
}

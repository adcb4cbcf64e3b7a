// Recognises a job that moderation stopped. The provider package would poll it until the timeout, or does not know the
// state.
import { z } from 'zod';
import { ContentRefused } from '../ai-sdk/content-refused.ts';

const state = z.object({ status: z.enum(['Request Moderated', 'Content Moderated']) });

/** A fetch that throws ContentRefused for a refused job. */
export function refusedJobs(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
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

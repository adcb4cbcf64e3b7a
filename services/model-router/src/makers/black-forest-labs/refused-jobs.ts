// A job that moderation holds back stays in that state: the provider package asks on until its time is over, or does not
// know the state at all. Here it is read for what it is.
import { z } from 'zod';
import { ContentRefused } from '../ai-sdk/content-refused.ts';

const state = z.object({ status: z.enum(['Request Moderated', 'Content Moderated']) });

/** A fetch whose answers about a refused job are a refusal. */
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
    return null; // the provider package says what is wrong with it
  }
}

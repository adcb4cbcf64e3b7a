// Chat options of xAI's Responses API beyond the AI SDK's common settings.
import type { ChatOptions } from '../ai-sdk/declaration.ts';

const INCOMPLETE: Readonly<Record<string, 'length' | 'content-filter'>> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
};

export const chat: ChatOptions = {
  onWire: ['parallel_tool_calls', 'prompt_cache_key', 'safety_identifier', 'user'],
  options: { store: (store) => ({ store: store === true }) },
  // xAI stores chats by default, OpenAI's does not. Without storage xAI returns the reasoning encrypted, to be sent back.
  defaults: { store: false },
  imageDetail: 'imageDetail',
  finishOf: (body) => {
    const { status, incomplete_details: details } = (body ?? {}) as {
      status?: unknown;
      incomplete_details?: { reason?: unknown } | null;
    };
    if (status === 'failed') return { unified: 'error', raw: 'failed' };
    if (status !== 'incomplete') return undefined;
    const raw = String(details?.reason ?? status);
    return { unified: INCOMPLETE[raw] ?? 'other', raw };
  },
};

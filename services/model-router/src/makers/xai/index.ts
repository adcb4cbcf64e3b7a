// xAI: text by its Responses API, the only one that its provider package supports; images; videos.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { NO_SEED, NO_SIZE } from '../ai-sdk/image.ts';

const INCOMPLETE: Readonly<Record<string, 'length' | 'content-filter'>> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
};

export const xai: MakerDeclaration = {
  name: 'xai',
  types: ['language', 'image', 'video'],
  baseUrl: 'https://api.x.ai/v1',
  apiKeyEnv: 'XAI_API_KEY',
  chat: {
    onWire: ['parallel_tool_calls', 'prompt_cache_key', 'safety_identifier', 'user'],
    options: { store: (store) => ({ store: store === true }) },
    // xAI stores chats by default, unlike OpenAI. Without storage it returns the reasoning encrypted, to be sent back.
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
  },
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

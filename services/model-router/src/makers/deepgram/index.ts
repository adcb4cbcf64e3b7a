// Deepgram: transcription (Nova) and speech (Aura). All its settings are in the address.
import { atBaseUrl } from '../ai-sdk/at-base-url.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { deepgramWords } from './words.ts';

const OWN_ORIGIN = 'https://api.deepgram.com';
/** A family of voices (`aura-2`) requires the name of one voice. */
const VOICE_DEFAULT = 'thalia';

export const deepgram: MakerDeclaration = {
  name: 'deepgram',
  types: ['speech', 'transcription'],
  baseUrl: OWN_ORIGIN,
  apiKeyEnv: 'DEEPGRAM_API_KEY',
  settingsInQuery: true,
  fields: {
    speech: {
      refused: { instructions: 'does not support instructions. Choose another voice.' },
      values: { response_format: { mp3: 'mp3', wav: 'wav', opus: 'opus', pcm: 'pcm' } },
      defaults: { voice: VOICE_DEFAULT },
    },
    transcription: {
      refused: {
        prompt: 'does not support prompt. Use provider_options.keyterm.',
        temperature: 'does not support temperature. Remove it.',
      },
      sent: { language: 'language' },
      // Without these the text has no punctuation, capitals or language.
      unlessSaid: { smart_format: true },
      without: { language: { detect_language: true } },
      words: { always: true, read: deepgramWords },
    },
  },
  async create(settings) {
    const { createDeepgram } = await import('@ai-sdk/deepgram');
    const { apiKey, headers } = settings;
    const maker = createDeepgram({ apiKey, headers, fetch: atBaseUrl(OWN_ORIGIN, settings) });
    return { speech: (id) => maker.speech(id), transcription: (id) => maker.transcription(id) };
  },
};

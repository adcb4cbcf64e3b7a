// Deepgram: transcription (Nova) and speech (Aura). All its settings are in the address.
import { z } from 'zod';
import { atBaseUrl } from '../ai-sdk/at-base-url.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import type { Word } from '../ai-sdk/transcribe.ts';

const OWN_ORIGIN = 'https://api.deepgram.com';
/** A family of voices (`aura-2`) requires the name of one voice. */
const VOICE_DEFAULT = 'thalia';

const word = z.object({
  word: z.string(),
  punctuated_word: z.string().nullish(),
  start: z.number(),
  end: z.number(),
});
const alternative = z.object({ words: z.array(word).default([]) });
const answer = z.object({
  results: z.object({ channels: z.array(z.object({ alternatives: z.array(alternative) })) }),
});

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
    const { apiKey } = settings;
    const maker = createDeepgram({ apiKey, fetch: atBaseUrl(OWN_ORIGIN, settings) });
    return { speech: (id) => maker.speech(id), transcription: (id) => maker.transcription(id) };
  },
};

/** Reads the words of a Deepgram answer, with punctuation. */
function deepgramWords(body: unknown): Word[] {
  const channel = answer.safeParse(body).data?.results.channels[0];
  const { words = [] } = channel?.alternatives[0] ?? {};
  return words.map(({ word, punctuated_word: written, start, end }) => ({
    word: written ?? word,
    start,
    end,
  }));
}

// ElevenLabs: speech (Eleven) and transcription (Scribe). Voices are named by id.
import { z } from 'zod';
import { atBaseUrl } from '../ai-sdk/at-base-url.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import type { Word } from '../ai-sdk/transcribe.ts';

const OWN_ORIGIN = 'https://api.elevenlabs.io';

const answer = z.object({
  words: z.array(
    z.object({ text: z.string(), type: z.string(), start: z.number().nullish(), end: z.number().nullish() }),
  ),
});

export const elevenlabs: MakerDeclaration = {
  name: 'elevenlabs',
  types: ['speech', 'transcription'],
  baseUrl: OWN_ORIGIN,
  apiKeyEnv: 'ELEVENLABS_API_KEY',
  priced: { cloud_storage_url: 'file', cloud_storage_uri: 'file', use_multi_channel: 'channels' },
  fields: {
    speech: {
      refused: { instructions: 'does not support instructions. Choose another voice.' },
      values: {
        // Its format names include the rate; OpenAI's pcm has 24 kHz.
        response_format: {
          mp3: 'mp3_44100_128',
          wav: 'wav_24000',
          opus: 'opus_48000_128',
          pcm: 'pcm_24000',
        },
      },
      sent: { language: 'language_code' },
    },
    transcription: {
      refused: { prompt: 'does not support prompt. Use provider_options.keyterms.' },
      sent: { language: 'language_code', temperature: 'temperature' },
      words: { always: true, read: elevenlabsWords },
    },
  },
  async create(settings) {
    const { createElevenLabs } = await import('@ai-sdk/elevenlabs');
    const { apiKey } = settings;
    const maker = createElevenLabs({ apiKey, fetch: atBaseUrl(OWN_ORIGIN, settings) });
    return { speech: (id) => maker.speech(id), transcription: (id) => maker.transcription(id) };
  },
};

/** Reads the words of a Scribe answer, which also lists spaces and other sounds. */
function elevenlabsWords(body: unknown): Word[] {
  const { words = [] } = answer.safeParse(body).data ?? {};
  return words
    .filter(({ type }) => type === 'word')
    .map(({ text, start, end }) => ({ word: text, start: start ?? 0, end: end ?? start ?? 0 }));
}

// ElevenLabs: speech (Eleven) and transcription (Scribe). A voice is an id of its own.
import { atBaseUrl } from '../ai-sdk/at-base-url.ts';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { elevenlabsWords } from './words.ts';

const OWN_ORIGIN = 'https://api.elevenlabs.io';

export const elevenlabs: MakerDeclaration = {
  name: 'elevenlabs',
  types: ['speech', 'transcription'],
  baseUrl: OWN_ORIGIN,
  apiKeyEnv: 'ELEVENLABS_API_KEY',
  fields: {
    speech: {
      refused: { instructions: 'takes no instructions; a voice has its manner' },
      values: {
        // Its names have the rate in them: 24 kHz is what OpenAI's callers know of pcm.
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
      refused: { prompt: 'takes no prompt; provider_options.keyterms are what it knows' },
      sent: { language: 'language_code', temperature: 'temperature' },
      words: { always: true, read: elevenlabsWords },
    },
  },
  async create(settings) {
    const { createElevenLabs } = await import('@ai-sdk/elevenlabs');
    const { apiKey, headers } = settings;
    const maker = createElevenLabs({ apiKey, headers, fetch: atBaseUrl(OWN_ORIGIN, settings) });
    return { speech: (id) => maker.speech(id), transcription: (id) => maker.transcription(id) };
  },
};

// Mistral: chat completions, embeddings, and the speech and transcription of Voxtral.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { chat } from './chat.ts';
import { segmentTimes } from './segment-times.ts';

export const mistral: MakerDeclaration = {
  name: 'mistral',
  types: ['language', 'speech', 'transcription', 'embedding'],
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyEnv: 'MISTRAL_API_KEY',
  chat,
  fields: {
    speech: {
      refused: {
        instructions: 'takes no instructions; provider_options.ref_audio is a voice to speak like',
        speed: 'takes no speed',
        language: 'hears the language from the text',
      },
      // Its pcm has samples of 32-bit floats, where callers of this API expect 16-bit integers.
      values: { response_format: { mp3: 'mp3', wav: 'wav', opus: 'opus' } },
    },
    transcription: {
      refused: { prompt: 'takes no prompt; provider_options.context_bias are the words that it knows' },
      sent: { language: 'language', temperature: 'temperature', timestamp_granularities: segmentTimes },
      // Without it there is nothing to make subtitles of.
      defaults: { timestamp_granularities: ['segment'] },
    },
  },
  async create(settings) {
    const { createMistral } = await import('@ai-sdk/mistral');
    const maker = createMistral(settings);
    return {
      language: (id) => maker.languageModel(id),
      speech: (id) => maker.speech(id),
      transcription: (id) => maker.transcription(id),
      embedding: (id) => maker.embeddingModel(id),
    };
  },
};

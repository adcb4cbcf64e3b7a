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
        instructions: 'does not support instructions. Use provider_options.ref_audio.',
        speed: 'does not support speed. Remove it.',
        language: 'detects the language itself. Remove it.',
      },
      // No pcm: Mistral's has 32-bit floats, callers of this API expect 16-bit integers.
      values: { response_format: { mp3: 'mp3', wav: 'wav', opus: 'opus' } },
    },
    transcription: {
      refused: { prompt: 'does not support prompt. Use provider_options.context_bias.' },
      sent: { language: 'language', temperature: 'temperature', timestamp_granularities: segmentTimes },
      // Subtitles need the segments.
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

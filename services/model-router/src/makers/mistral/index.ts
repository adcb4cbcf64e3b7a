// Mistral: chat completions, embeddings, and the speech and transcription of Voxtral.
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { UnsupportedField } from '../ai-sdk/translation.ts';

export const mistral: MakerDeclaration = {
  name: 'mistral',
  types: ['language', 'speech', 'transcription', 'embedding'],
  baseUrl: 'https://api.mistral.ai/v1',
  apiKeyEnv: 'MISTRAL_API_KEY',
  chat: {
    onWire: ['parallel_tool_calls', 'prediction', 'prompt_cache_key', 'response_format'],
    imageUrls: true,
  },
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

/**
 * Mistral returns the times of segments or of words, never both; callers who ask for words also expect segments.
 * @throws UnsupportedField when words are requested.
 */
function segmentTimes(granularities: unknown): Record<string, unknown> {
  if (Array.isArray(granularities) && granularities.includes('word'))
    throw new UnsupportedField('timestamp_granularities', 'mistral supports only segment.');
  return { timestamp_granularities: ['segment'] };
}

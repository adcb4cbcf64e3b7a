import { readFile } from 'node:fs/promises';
import {
  catalogFile,
  DECISION_QUESTIONS_MAX,
  IMAGES_PER_REQUEST_MAX,
  RERANK_DOCUMENTS_MAX,
  SPEECH_FORMATS,
  SPEECH_INPUT_CHARACTERS_MAX,
} from '@switchyard/contracts';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { OUTPUT_TOKENS_MAX } from '../../../../libs/local-models/src/chat/chat-request.ts';
import { STATE_LENGTH_READ_MAX } from '../../../../libs/local-models/src/decide/facts.ts';
import { IMAGE_SIDE_MAX, IMAGE_SIDE_MIN } from '../../../../libs/local-models/src/image/image-size.ts';
import { createLocalModels } from '../../../../libs/local-models/src/local-models.ts';
import { TEXT_LENGTH_READ_MAX } from '../../../../libs/local-models/src/rerank/search-terms.ts';
import { SPEECH_SAMPLE_RATE_HZ } from '../../../../libs/local-models/src/speech/answer-speech.ts';
import { VOICE_DEFAULT, VOICES } from '../../../../libs/local-models/src/speech/voices.ts';
import {
  AUDIO_SECONDS_MAX,
  SPEECH_SECONDS_MAX,
} from '../../../../libs/local-models/src/transcribe/decode-audio.ts';

const local = createLocalModels({ now: () => 0 });

const text = await readFile(new URL('../../catalog/local.yaml', import.meta.url), 'utf8');
const { models } = catalogFile.parse(load(text));
const [ofTexts, others] = [
  models.filter(({ type }) => type === 'language' || type === 'embedding'),
  models.filter(({ type }) => type !== 'language' && type !== 'embedding' && type !== 'video'),
];
const limitsOf = (id: string) => models.find((model) => model.id === id)?.limits;

describe('the catalog of local models without programs', () => {
  it('is valid, prices every model above zero, and names models that answer', async () => {
    for (const { id, type, description, pricing, upstreams } of ofTexts) {
      expect(description.length).toBeGreaterThan(50);
      for (const price of Object.values(pricing)) expect(Number(price)).toBeGreaterThan(0);
      const { status } = await local.answer({
        type,
        model: upstreams[0]?.model ?? '',
        body: Buffer.from(
          JSON.stringify({ model: id, messages: [{ role: 'user', content: 'Hello' }], input: 'Hello' }),
        ),
        stream: false,
        signal: new AbortController().signal,
      });
      expect(status).toBe(200);
    }
  });
});

describe('the catalog of the other local models', () => {
  it('prices every model above zero, and names existing models', async () => {
    expect(others.map(({ type }) => type).sort()).toEqual([
      'decision',
      'image',
      'rerank',
      'speech',
      'transcription',
    ]);
    for (const { type, pricing, upstreams } of others) {
      for (const price of Object.values(pricing)) expect(Number(price)).toBeGreaterThan(0);
      const model = upstreams[0]?.model ?? '';
      const signal = new AbortController().signal;
      // An empty body is refused by each model in its own way, and by no model as unknown.
      const answer = await local.answer({
        type,
        model,
        body: new Uint8Array(),
        stream: false,
        signal,
      });
      expect(answer.status, model).toBe(400);
    }
  });

  it('states the actual limits', () => {
    expect(limitsOf('local/chat')?.output_tokens).toBe(OUTPUT_TOKENS_MAX);
    expect(limitsOf('local/rerank')).toEqual({
      documents: RERANK_DOCUMENTS_MAX,
      characters_read_per_document: TEXT_LENGTH_READ_MAX,
    });
    expect(limitsOf('local/decide')).toMatchObject({
      questions: DECISION_QUESTIONS_MAX,
      characters_read_of_state: STATE_LENGTH_READ_MAX,
    });
    expect(limitsOf('local/image')).toMatchObject({
      images: IMAGES_PER_REQUEST_MAX,
      sizes: { side_min: IMAGE_SIDE_MIN, side_max: IMAGE_SIDE_MAX },
    });
    expect(limitsOf('local/speech')).toMatchObject({
      characters: SPEECH_INPUT_CHARACTERS_MAX,
      voices: [...VOICES.keys()],
      default_voice: VOICE_DEFAULT,
      formats: [...SPEECH_FORMATS],
      sample_rate_hz: SPEECH_SAMPLE_RATE_HZ,
    });
    expect(limitsOf('local/transcribe')).toMatchObject({
      seconds_of_speech: SPEECH_SECONDS_MAX,
      seconds_max: AUDIO_SECONDS_MAX,
    });
  });
});

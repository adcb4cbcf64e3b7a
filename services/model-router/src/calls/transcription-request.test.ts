import type { CatalogModel, TranscriptionParams } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import type { MeasuredAudio } from '../audio/measure-audio.ts';
import { priceUnits } from '../spending/pricing.ts';
import { TranscriptionRequest } from './transcription-request.ts';

function model(minute: string, limits: Record<string, unknown> = {}): CatalogModel {
  return {
    id: 'acme/ear',
    type: 'transcription',
    name: 'Ear',
    description: '',
    modalities: { input: ['audio'], output: ['text'] },
    limits,
    supported_parameters: [],
    pricing: { minute },
    upstreams: [],
  };
}

describe('the price of a number of seconds', () => {
  test.each([
    ['0.006', 60, '0.006'],
    ['0.006', 1, '0.0001'],
    ['0.006', 12.345, '0.0012345'],
    // Two thirds of a nano-dollar are rounded up; a third is not.
    ['0.00000004', 1, '0.000000001'],
    ['0.00000002', 1, '0'],
    ['0.0043', 1638.397, '0.117418452'],
  ])('%s a minute, %d s: %s', (rate, seconds, cost) => {
    const price = priceUnits(model(rate), { seconds });
    expect(price.cost).toBe(cost);
    expect(price.quantities).toEqual({ seconds });
    expect(price.lines).toEqual([{ unit: 'minute', quantity: seconds, rate, per: 60 }]);
  });
});

const audio = Buffer.alloc(1_000);

function request(
  params: Partial<TranscriptionParams>,
  measured: MeasuredAudio = { format: 'wav', seconds: 10 },
) {
  return new TranscriptionRequest(audio, { media_type: 'audio/wav', filename: 'a.wav', ...params }, measured);
}

describe('the request to an upstream', () => {
  test.each<[string, string, MeasuredAudio['format'], string, string]>([
    ['audio/wav', 'a.wav', 'wav', 'audio/wav', 'a.wav'],
    ['audio/x-wav', 'A.WAV', 'wav', 'audio/wav', 'A.WAV'],
    ['audio/ogg; codecs=opus', 'note.opus', 'ogg', 'audio/ogg', 'note.opus'],
    ['audio/webm;codecs=opus', 'audio.webm', 'webm', 'audio/webm', 'audio.webm'],
    ['audio/mpeg', 'a.mp3', 'wav', 'audio/wav', 'a.wav'],
    ['application/octet-stream', 'blob', 'mp3', 'audio/mpeg', 'blob.mp3'],
    ['audio/wav', 'my.tape', 'flac', 'audio/flac', 'my.flac'],
  ])('of %s, %s that is %s: %s, %s', (media_type, filename, format, toldType, toldName) => {
    const { body, transcription } = request({ media_type, filename }, { format, seconds: 1 }).toUpstream(
      model('0.006'),
    );
    expect(body).toBe(audio);
    expect(transcription).toMatchObject({
      media_type: toldType,
      filename: toldName,
      response_format: 'verbose_json',
    });
  });

  test('asks for json when the model supports no other format', () => {
    const plain = model('0.006', { response_formats: ['json', 'text'] });
    expect(request({ response_format: 'text' }).toUpstream(plain).transcription?.response_format).toBe(
      'json',
    );
  });
});

describe('a model refuses', () => {
  test.each<[Record<string, unknown>, Partial<TranscriptionParams>, string | null]>([
    [{ bytes_max: 1_000 }, {}, null],
    [{ bytes_max: 999 }, {}, 'file'],
    [{ seconds_max: 10 }, {}, null],
    [{ seconds_max: 9.999 }, {}, 'file'],
    [{ formats: ['mp3', 'wav'] }, {}, null],
    [{ formats: ['mp3'] }, {}, 'file'],
    [{ languages: ['en'] }, { language: 'EN-us' }, null],
    [{ languages: ['en'] }, { language: 'english' }, null],
    [{ languages: ['en'] }, {}, null],
    [{ languages: ['en'] }, { language: 'fr' }, 'language'],
    [{ response_formats: ['json'] }, { response_format: 'text' }, null],
    [{ response_formats: ['json'] }, { response_format: 'vtt' }, 'response_format'],
    [{ response_formats: ['json'] }, { timestamp_granularities: ['word'] }, 'timestamp_granularities'],
    [{ response_formats: ['json'] }, { timestamp_granularities: [] }, null],
    [{}, { timestamp_granularities: ['word'] }, null],
    [{ languages: 'many', formats: 'all of them', seconds_max: 'an hour' }, { language: 'fr' }, null],
  ])('by %j, asked with %j: %s', (limits, params, param) => {
    expect(request(params).refusalOf(model('0.006', limits))?.param ?? null).toBe(param);
  });
});

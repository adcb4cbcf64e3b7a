import {
  APICallError,
  type JSONValue,
  type TranscriptionModelV4,
  type TranscriptionModelV4CallOptions,
  type TranscriptionModelV4Result,
} from '@ai-sdk/provider';
import { convertBase64ToUint8Array, mediaTypeToExtension } from '@ai-sdk/provider-utils';
import { type ErrorBody, transcriptionResult } from '@switchyard/contracts';
import { costMetadata, extraFields, NAME, postForm, SwitchyardModel } from './call-api.ts';

export class SwitchyardTranscriptionModel extends SwitchyardModel implements TranscriptionModelV4 {
  readonly provider = `${NAME}.transcription`;

  async doGenerate(options: TranscriptionModelV4CallOptions): Promise<TranscriptionModelV4Result> {
    const { value, response } = await this.#transcribe(options);
    const { text, segments = [], words, language, duration, usage } = value;
    return {
      text,
      segments: segments.map((segment) => ({
        text: segment.text,
        startSecond: segment.start,
        endSecond: segment.end,
      })),
      ...(words
        ? {
            words: words.map(({ word, start, end }) => ({ text: word, startSecond: start, endSecond: end })),
          }
        : {}),
      language: language === '' ? undefined : language,
      durationInSeconds: duration,
      warnings: [],
      usage: { seconds: usage.seconds, cost: usage.cost },
      providerMetadata: costMetadata(usage.cost),
      response: {
        timestamp: new Date(),
        modelId: value.model,
        ...response,
      },
    };
  }

  async #transcribe(options: TranscriptionModelV4CallOptions) {
    const form = formOf(this.modelId, options);
    const post = () => postForm(this.access, '/audio/transcriptions', form, transcriptionResult, options);
    try {
      return await post();
    } catch (error) {
      // Models that report no times refuse verbose_json, which only we chose.
      if (!isRefusalOfFormat(error) || choosesFormat(options)) throw error;
      form.set('response_format', 'json');
      return post();
    }
  }
}

function isRefusalOfFormat(error: unknown): boolean {
  return (
    APICallError.isInstance(error) && (error.data as ErrorBody | undefined)?.error.param === 'response_format'
  );
}

function choosesFormat({
  timestampGranularities = [],
  providerOptions,
}: TranscriptionModelV4CallOptions): boolean {
  return timestampGranularities.length > 0 || 'response_format' in extraFields(providerOptions);
}

function formOf(modelId: string, options: TranscriptionModelV4CallOptions): FormData {
  const { audio, mediaType, timestampGranularities = [], providerOptions } = options;
  const bytes = typeof audio === 'string' ? convertBase64ToUint8Array(audio) : audio;
  const form = new FormData();
  form.set('model', modelId);
  form.set('response_format', 'verbose_json');
  for (const granularity of timestampGranularities) form.append('timestamp_granularities[]', granularity);
  for (const [name, value] of Object.entries(extraFields(providerOptions))) form.set(name, fieldOf(value));
  const file = new Blob([Uint8Array.from(bytes)], { type: mediaType });
  form.set('file', file, `audio.${mediaTypeToExtension(mediaType)}`);
  return form;
}

/** Lists and objects are JSON in a form. */
function fieldOf(value: JSONValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

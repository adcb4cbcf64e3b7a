// A request for a transcription: its body is the audio, measured before anybody is asked, and charged by that.
import {
  AUDIO_FORMATS,
  audioFormatOf,
  audioFormatOfFile,
  type CatalogModel,
  type ModelCallHead,
  type ServiceError,
  type TranscriptionParams,
  transcriptionParams,
} from '@switchyard/contracts';
import { finishTranscription } from '../answers/transcription/finish-transcription.ts';
import { type MeasuredAudio, measureAudio } from '../audio/measure-audio.ts';
import type { UpstreamRequest } from '../makers/maker.ts';
import type { Expected } from '../spending/expected-cost.ts';
import { refusalOfTranscription, verboseIsKnownTo } from './model-limits.ts';
import type { FinishedAnswer, ModelRequest } from './model-request.ts';
import { priceSeconds } from './pricing.ts';

/** @throws ServiceError `audio_unreadable` where the audio's length cannot be found */
export async function transcriptionRequest(
  audio: Buffer,
  { params }: ModelCallHead,
  signal: AbortSignal,
): Promise<TranscriptionRequest> {
  const told = transcriptionParams.parse(params);
  return new TranscriptionRequest(audio, told, await measureAudio(audio, signal));
}

export class TranscriptionRequest implements ModelRequest {
  readonly #audio: Buffer;
  readonly #params: TranscriptionParams;
  readonly #measured: MeasuredAudio;

  constructor(audio: Buffer, params: TranscriptionParams, measured: MeasuredAudio) {
    this.#audio = audio;
    this.#params = params;
    this.#measured = measured;
  }

  refusalOf(model: CatalogModel): ServiceError | null {
    return refusalOfTranscription(model, {
      ...this.#measured,
      bytes: this.#audio.length,
      language: this.#params.language ?? null,
      responseFormat: this.#params.response_format ?? 'json',
    });
  }

  expected(model: CatalogModel): Expected {
    return { cost: priceSeconds(model, this.#measured.seconds).costNano, exact: true };
  }

  /** Makers go by the media type and by the file's ending: both are told as the file itself has them. */
  toUpstream(model: CatalogModel): Pick<UpstreamRequest, 'body' | 'transcription'> {
    const { format } = this.#measured;
    const { mediaType, endings } = AUDIO_FORMATS[format];
    const { media_type: told, filename } = this.#params;
    const transcription: TranscriptionParams = {
      ...this.#params,
      media_type: audioFormatOf(told) === format ? told : mediaType,
      filename:
        audioFormatOfFile(filename) === format ? filename : `${filename.replace(/\.\w+$/, '')}.${endings[0]}`,
      response_format: verboseIsKnownTo(model) ? 'verbose_json' : 'json',
    };
    return { body: this.#audio, transcription };
  }

  streamedAnswer(): null {
    return null;
  }

  finish(model: CatalogModel, answer: Buffer): FinishedAnswer {
    const { seconds } = this.#measured;
    const price = priceSeconds(model, seconds);
    const rendered = finishTranscription({ model, answer, params: this.#params, seconds, price });
    return { ...rendered, price, basis: 'upstream' };
  }

  /** A maker charges for all of the audio once it has begun to answer. */
  produced(model: CatalogModel): Pick<FinishedAnswer, 'price' | 'basis'> {
    return { price: priceSeconds(model, this.#measured.seconds), basis: 'upstream' };
  }
}

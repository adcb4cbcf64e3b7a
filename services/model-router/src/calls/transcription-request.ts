// A transcription request: its body is the audio, which is measured before any upstream is called and charged by its
// length.
import {
  AUDIO_FORMATS,
  audioFormatOfFile,
  type CatalogModel,
  type ModelCallHead,
  type ServiceError,
  type TranscriptionParams,
  transcriptionParams,
} from '@switchyard/contracts';
import { finishTranscription } from '../answers/transcription/finish-transcription.ts';
import type { AudioDecoder } from '../audio/audio-decoder.ts';
import { type MeasuredAudio, measureAudio } from '../audio/measure-audio.ts';
import type { UpstreamRequest } from '../makers/maker.ts';
import type { Expected } from '../spending/expected-cost.ts';
import { type Price, priceUnits } from '../spending/pricing.ts';
import { refusalOfTranscription, verboseIsKnownTo } from './model-limits.ts';
import type { FinishedAnswer, ModelRequest } from './model-request.ts';
import { PricedMembers } from './priced-members.ts';

/** @throws ServiceError `audio_unreadable` when the audio's length cannot be determined; `service_unavailable`; `invalid_request` */
export async function transcriptionRequest(
  deps: { decoder: AudioDecoder },
  audio: Buffer,
  { org, params }: ModelCallHead,
  signal: AbortSignal,
): Promise<TranscriptionRequest> {
  const read = transcriptionParams.parse(params);
  return new TranscriptionRequest(audio, read, await measureAudio(deps, audio, { org, signal }));
}

export class TranscriptionRequest implements ModelRequest {
  readonly #audio: Buffer;
  readonly #params: TranscriptionParams;
  readonly #measured: MeasuredAudio;
  readonly #priced: PricedMembers;

  constructor(audio: Buffer, params: TranscriptionParams, measured: MeasuredAudio) {
    this.#audio = audio;
    this.#params = params;
    this.#measured = measured;
    this.#priced = new PricedMembers('transcription', Buffer.from(JSON.stringify(params)));
  }

  refusalOf(model: CatalogModel): ServiceError | null {
    const limits = refusalOfTranscription(model, {
      ...this.#measured,
      bytes: this.#audio.length,
      language: this.#params.language ?? null,
      responseFormat: this.#params.response_format ?? 'json',
      wantsTimes: (this.#params.timestamp_granularities?.length ?? 0) > 0,
    });
    return this.#priced.refusalOf(model) ?? limits;
  }

  expected(model: CatalogModel): Expected {
    return { cost: priceUnits(model, { seconds: this.#measured.seconds }).costNano, exact: true };
  }

  /**
   * Makers rely on the media type and the file extension, so both are set from the detected format. Provider packages
   * derive an extension from the type, so it has no parameters (`;codecs=opus`).
   */
  toUpstream(model: CatalogModel): Pick<UpstreamRequest, 'body' | 'transcription'> {
    const { format } = this.#measured;
    const { mediaType, extensions } = AUDIO_FORMATS[format];
    const { filename } = this.#params;
    const transcription: TranscriptionParams = {
      ...this.#params,
      media_type: mediaType,
      filename:
        audioFormatOfFile(filename) === format
          ? filename
          : `${filename.replace(/\.\w+$/, '')}.${extensions[0]}`,
      response_format: verboseIsKnownTo(model) ? 'verbose_json' : 'json',
    };
    return { body: this.#audio, transcription };
  }

  streamedAnswer(): null {
    return null;
  }

  finish(model: CatalogModel, answer: Buffer): FinishedAnswer {
    const { seconds } = this.#measured;
    const price = priceUnits(model, { seconds });
    const rendered = finishTranscription({ model, answer, params: this.#params, seconds, price });
    return { ...rendered, price, basis: 'upstream' };
  }

  /** A maker charges for the whole audio once it has it. */
  accepted(model: CatalogModel): Price {
    return priceUnits(model, { seconds: this.#measured.seconds });
  }
}

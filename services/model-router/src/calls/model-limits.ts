// Checks a request against a model's own limits (`limits` in the catalog) before it is sent, so that the caller gets an
// immediate error in our terms.
import {
  AUDIO_FORMATS,
  type AudioFormatName,
  type CatalogModel,
  imagesRequest,
  invalidParam,
  type ServiceError,
  speechRequest,
  spokenCharacters,
  type TranscriptionFormat,
} from '@switchyard/contracts';
import { z } from 'zod';

/** Limits are free-form: a value of another shape under these names is information for clients and is not enforced. */
const names = z.array(z.string()).optional().catch(undefined);
const count = z.int().positive().optional().catch(undefined);

/** Limits of image models that the router enforces; a catalog may hold others for clients to read. */
const imageLimits = z.looseObject({
  /** Allowed sizes, as `<width>x<height>`; a model with `aspect_ratios` and no sizes accepts no size. */
  sizes: names,
  aspect_ratios: names,
  images_max: count,
});

/**
 * Why the model cannot serve the request; null when it can. A refusal of the first model is the caller's answer; later
 * models are skipped.
 */
export function refusalOf(model: CatalogModel, body: Buffer): ServiceError | null {
  if (model.type === 'image') return refusalOfImages(model, body);
  if (model.type === 'speech') return refusalOfSpeech(model, body);
  return null;
}

/** Limits of speech models that the router enforces. */
const speechLimits = z.looseObject({
  voices: names,
  formats: names,
  characters_max: count,
});

function refusalOfSpeech(model: CatalogModel, body: Buffer): ServiceError | null {
  const { input, voice, response_format: format } = speechRequest.parse(JSON.parse(body.toString('utf8')));
  const { voices, formats, characters_max: max } = speechLimits.parse(model.limits);
  if (typeof voice === 'string' && voices && !voices.includes(voice))
    return invalidParam('voice', supports(model, voices));
  if (format && formats && !formats.includes(format))
    return invalidParam('response_format', supports(model, formats));
  if (max && spokenCharacters(input) > max)
    return invalidParam('input', `${model.id} accepts at most ${max} characters. Split the text.`);
  return null;
}

/** Limits of transcription models that the router enforces. */
const transcriptionLimits = z.looseObject({
  bytes_max: count,
  seconds_max: z.number().positive().optional().catch(undefined),
  /** ISO 639-1. */
  languages: names,
  /** File name extensions. */
  formats: names,
  /** OpenAI's formats that the model supports; without `verbose_json` it reports no times. */
  response_formats: names,
});

/** The properties of a transcription request that limits apply to. */
interface AskedTranscription {
  format: AudioFormatName;
  seconds: number;
  bytes: number;
  language: string | null;
  responseFormat: TranscriptionFormat;
  /** The caller asks for the times of words or segments. */
  wantsTimes: boolean;
}

/** ISO 639-1 has two letters, ISO 639-3 has three. */
const LANGUAGE_CODE_LENGTH_MAX = 3;

const NEEDS_TIMES: ReadonlySet<TranscriptionFormat> = new Set(['verbose_json', 'srt', 'vtt']);

export function refusalOfTranscription(model: CatalogModel, asked: AskedTranscription): ServiceError | null {
  const {
    bytes_max: bytesMax,
    seconds_max: secondsMax,
    languages,
    formats,
  } = transcriptionLimits.parse(model.limits);
  const endings: readonly string[] = AUDIO_FORMATS[asked.format].endings;
  if (bytesMax && asked.bytes > bytesMax)
    return invalidParam('file', `${model.id} accepts at most ${bytesMax} bytes. Split or compress the file.`);
  if (secondsMax && asked.seconds > secondsMax)
    return invalidParam(
      'file',
      `${model.id} accepts at most ${secondsMax} seconds, not ${asked.seconds}. Split the file.`,
    );
  if (formats && !endings.some((ending) => formats.includes(ending)))
    return invalidParam('file', `${model.id} does not support ${asked.format}, only ${formats.join(', ')}.`);
  const code = asked.language && languageCode(asked.language);
  if (languages && code && !languages.includes(code))
    return invalidParam('language', supports(model, languages));
  if (NEEDS_TIMES.has(asked.responseFormat) && !verboseIsKnownTo(model))
    return invalidParam('response_format', `${model.id} reports no times. Use json or text.`);
  if (asked.wantsTimes && !verboseIsKnownTo(model))
    return invalidParam('timestamp_granularities', `${model.id} reports no times. Remove the field.`);
  return null;
}

/** Whether the model supports `verbose_json`; models without `response_formats` do. */
export function verboseIsKnownTo(model: CatalogModel): boolean {
  const { response_formats: formats } = transcriptionLimits.parse(model.limits);
  return formats === undefined || formats.includes('verbose_json');
}

/** Maps `en-US` and `EN` to `en`; null for a language name, which the maker may know. */
function languageCode(language: string): string | null {
  const code = language.split(/[-_]/)[0]?.toLowerCase() ?? '';
  return code.length <= LANGUAGE_CODE_LENGTH_MAX ? code : null;
}

function refusalOfImages(model: CatalogModel, body: Buffer): ServiceError | null {
  const { size, aspect_ratio: ratio, n } = imagesRequest.parse(JSON.parse(body.toString('utf8')));
  const { sizes, aspect_ratios: ratios, images_max: max } = imageLimits.parse(model.limits);
  if (size && !sizes && ratios)
    return invalidParam('size', `${model.id} supports no size. Use aspect_ratio: ${ratios.join(', ')}.`);
  if (size && size !== 'auto' && sizes && !sizes.includes(size))
    return invalidParam('size', supports(model, sizes));
  if (ratio && ratios && !ratios.includes(ratio))
    return invalidParam(
      'aspect_ratio',
      ratios.length > 0 ? supports(model, ratios) : `${model.id} supports none. Use size.`,
    );
  if (n && max && n > max) return invalidParam('n', `${model.id} makes at most ${max} images per request.`);
  return null;
}

function supports({ id }: CatalogModel, values: readonly string[]): string {
  return `${id} supports only ${values.join(', ')}.`;
}

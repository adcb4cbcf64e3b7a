// What a model's own limits (its `limits` in the catalog) refuse, beyond what its endpoint takes: said by us, at once
// and in the right words, instead of by the maker in its own.
import {
  AUDIO_FORMATS,
  type AudioFormatName,
  type CatalogModel,
  imagesRequest,
  ServiceError,
  speechRequest,
  spokenCharacters,
  type TranscriptionFormat,
} from '@switchyard/contracts';
import { z } from 'zod';

/** Limits are free-form: one that says something else under these names is for clients to read, and forbids nothing. */
const names = z.array(z.string()).optional().catch(undefined);
const count = z.int().positive().optional().catch(undefined);

/** Limits of image models that the router knows; a catalog may hold others for clients to read. */
const imageLimits = z.looseObject({
  /** Sizes that the model takes, as `<width>x<height>`; with `aspect_ratios` and without sizes it takes none. */
  sizes: names,
  aspect_ratios: names,
  images_max: count,
});

/** Why the model cannot serve the request; null when it can. The first model's refusal is the answer, others are skipped. */
export function refusalOf(model: CatalogModel, body: Buffer): ServiceError | null {
  if (model.type === 'image') return refusalOfImages(model, body);
  if (model.type === 'speech') return refusalOfSpeech(model, body);
  return null;
}

/** Limits of speech models that the router knows. */
const speechLimits = z.looseObject({
  voices: names,
  formats: names,
  characters_max: count,
});

function refusalOfSpeech(model: CatalogModel, body: Buffer): ServiceError | null {
  const { input, voice, response_format: format } = speechRequest.parse(JSON.parse(body.toString('utf8')));
  const { voices, formats, characters_max: max } = speechLimits.parse(model.limits);
  if (typeof voice === 'string' && voices && !voices.includes(voice))
    return refuse('voice', `${model.id} has ${voices.join(', ')}`);
  if (format && formats && !formats.includes(format))
    return refuse('response_format', `${model.id} has ${formats.join(', ')}`);
  if (max && spokenCharacters(input) > max)
    return refuse('input', `${model.id} speaks at most ${max} characters`);
  return null;
}

/** Limits of transcription models that the router knows. */
const transcriptionLimits = z.looseObject({
  bytes_max: count,
  seconds_max: z.number().positive().optional().catch(undefined),
  /** ISO 639-1. */
  languages: names,
  /** Endings of file names. */
  formats: names,
  /** Those of OpenAI that the model itself answers in; without `verbose_json` it tells no times. */
  response_formats: names,
});

/** What a transcription asks, as far as limits go. */
export interface AskedTranscription {
  format: AudioFormatName;
  seconds: number;
  bytes: number;
  language: string | null;
  responseFormat: TranscriptionFormat;
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
    return refuse('file', `${model.id} takes at most ${bytesMax} bytes`);
  if (secondsMax && asked.seconds > secondsMax)
    return refuse('file', `${model.id} takes at most ${secondsMax} seconds, and there are ${asked.seconds}`);
  if (formats && !endings.some((ending) => formats.includes(ending)))
    return refuse('file', `it is ${asked.format}, and ${model.id} takes ${formats.join(', ')}`);
  const code = asked.language && languageCode(asked.language);
  if (languages && code && !languages.includes(code))
    return refuse('language', `${model.id} knows ${languages.join(', ')}`);
  if (NEEDS_TIMES.has(asked.responseFormat) && !verboseIsKnownTo(model))
    return refuse('response_format', `${model.id} tells no times: json and text are what it has`);
  return null;
}

/** Whether the model answers in `verbose_json`: most do, and those that do not say what they have. */
export function verboseIsKnownTo(model: CatalogModel): boolean {
  const { response_formats: formats } = transcriptionLimits.parse(model.limits);
  return formats === undefined || formats.includes('verbose_json');
}

/** `en-US` and `EN` are `en`; null for a language by its name, which the maker may know. */
function languageCode(language: string): string | null {
  const code = language.split(/[-_]/)[0]?.toLowerCase() ?? '';
  return code.length <= LANGUAGE_CODE_LENGTH_MAX ? code : null;
}

function refuse(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', `${param}: ${message}`, { param });
}

function refusalOfImages(model: CatalogModel, body: Buffer): ServiceError | null {
  const { size, aspect_ratio: ratio, n } = imagesRequest.parse(JSON.parse(body.toString('utf8')));
  const { sizes, aspect_ratios: ratios, images_max: max } = imageLimits.parse(model.limits);
  if (size && !sizes && ratios)
    return refuse('size', `${model.id} takes only an aspect_ratio: ${ratios.join(', ')}`);
  if (size && size !== 'auto' && sizes && !sizes.includes(size))
    return refuse('size', `${model.id} takes ${sizes.join(', ')}`);
  if (ratio && ratios && !ratios.includes(ratio))
    return refuse('aspect_ratio', `${model.id} takes ${ratios.join(', ') || 'none: ask for a size'}`);
  if (n && max && n > max) return refuse('n', `${model.id} makes at most ${max} images at once`);
  return null;
}

// Checks a request against a model's own limits (`limits` in the catalog) before it is sent, so that the caller gets an
// immediate error in our terms.
import {
  AUDIO_FORMATS,
  type AudioFormatName,
  type CatalogModel,
  type imagesRequest,
  invalidParam,
  type ServiceError,
  type speechRequest,
  spokenCharacters,
  type TranscriptionFormat,
} from '@switchyard/contracts';
import { z } from 'zod';
import { type RequestJson, readRequest } from '../spending/request-price.ts';

const names = z.array(z.string()).optional().catch(undefined);
const count = z.int().positive().optional().catch(undefined);

/**
 * The limits that the router enforces. A catalog may have others for clients to read, and values of other shapes under
 * these names.
 */
const enforcedLimits = z.object({
  /** Allowed sizes, as `<width>x<height>`; a model with `aspect_ratios` and no sizes accepts no size. */
  sizes: names,
  aspect_ratios: names,
  images_max: count,
  voices: names,
  characters_max: count,
  bytes_max: count,
  seconds_max: z.number().positive().optional().catch(undefined),
  /** ISO 639-1. */
  languages: names,
  /** For speech the `response_format`s, for a transcription the file extensions. */
  formats: names,
  /** OpenAI's formats of a transcription; without `verbose_json` the model reports no times. */
  response_formats: names,
});

/**
 * Why the model cannot serve the request; null when it can. A refusal of the first model is the caller's answer; later
 * models are skipped.
 */
export function refusalOf(model: CatalogModel, body: Buffer): ServiceError | null {
  if (model.type === 'image') return refusalOfImages(model, readRequest(body));
  if (model.type === 'speech') return refusalOfSpeech(model, readRequest(body));
  return null;
}

function refusalOfSpeech(model: CatalogModel, request: RequestJson): ServiceError | null {
  const { input, voice, response_format: format } = request as z.infer<typeof speechRequest>;
  const { voices, formats, characters_max: max } = enforcedLimits.parse(model.limits);
  if (max && spokenCharacters(input) > max)
    return invalidParam('input', `${model.id} accepts at most ${max} characters. Split the text.`);
  const name = typeof voice === 'string' ? voice : null;
  return unlisted(model, 'voice', name, voices) ?? unlisted(model, 'response_format', format, formats);
}

function refusalOfImages(model: CatalogModel, request: RequestJson): ServiceError | null {
  const { size, aspect_ratio: ratio, n } = request as z.infer<typeof imagesRequest>;
  const { sizes, aspect_ratios: ratios, images_max: max } = enforcedLimits.parse(model.limits);
  if (size && !sizes && ratios)
    return invalidParam('size', `${model.id} supports no size. Use aspect_ratio: ${ratios.join(', ')}.`);
  if (ratio && ratios?.length === 0)
    return invalidParam('aspect_ratio', `${model.id} supports none. Use size.`);
  if (n && max && n > max) return invalidParam('n', `${model.id} makes at most ${max} images per request.`);
  const pixels = size === 'auto' ? null : size;
  return unlisted(model, 'size', pixels, sizes) ?? unlisted(model, 'aspect_ratio', ratio, ratios);
}

/** The refusal of a value that the model's list does not have. */
function unlisted(
  { id }: CatalogModel,
  param: string,
  value: string | null | undefined,
  allowed: readonly string[] | undefined,
): ServiceError | null {
  if (!value || !allowed || allowed.includes(value)) return null;
  return invalidParam(param, `${id} supports only ${allowed.join(', ')}.`);
}

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
  const limits = enforcedLimits.parse(model.limits);
  const { bytes_max: bytesMax, seconds_max: secondsMax, languages, formats } = limits;
  const extensions: readonly string[] = AUDIO_FORMATS[asked.format].extensions;
  if (bytesMax && asked.bytes > bytesMax)
    return invalidParam('file', `${model.id} accepts at most ${bytesMax} bytes. Split or compress the file.`);
  if (secondsMax && asked.seconds > secondsMax)
    return invalidParam(
      'file',
      `${model.id} accepts at most ${secondsMax} seconds, not ${asked.seconds}. Split the file.`,
    );
  if (formats && !extensions.some((extension) => formats.includes(extension)))
    return invalidParam('file', `${model.id} does not support ${asked.format}, only ${formats.join(', ')}.`);
  const language = unlisted(model, 'language', asked.language && languageCode(asked.language), languages);
  if (language) return language;
  if (NEEDS_TIMES.has(asked.responseFormat) && !verboseIsKnownTo(model))
    return invalidParam('response_format', `${model.id} reports no times. Use json or text.`);
  if (asked.wantsTimes && !verboseIsKnownTo(model))
    return invalidParam('timestamp_granularities', `${model.id} reports no times. Remove the field.`);
  return null;
}

/** Whether the model supports `verbose_json`; models without `response_formats` do. */
export function verboseIsKnownTo(model: CatalogModel): boolean {
  const { response_formats: formats } = enforcedLimits.parse(model.limits);
  return formats === undefined || formats.includes('verbose_json');
}

/** Maps `en-US` and `EN` to `en`; null for a language name, which the maker may know. */
function languageCode(language: string): string | null {
  const code = language.split(/[-_]/)[0]?.toLowerCase() ?? '';
  return code.length <= LANGUAGE_CODE_LENGTH_MAX ? code : null;
}

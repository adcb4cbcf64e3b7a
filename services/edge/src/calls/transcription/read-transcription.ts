// Reads a transcription request off its socket, in either of its two forms.
import type { IncomingMessage } from 'node:http';
import {
  AUDIO_BYTES_MAX,
  AUDIO_FORMATS,
  audioFormatOf,
  audioFormatOfFile,
  invalidParam,
  ServiceError,
  TRANSCRIPTION_FIELDS_BYTES_MAX,
  type TranscriptionParams,
  transcriptionFields,
  UNKNOWN_MEDIA_TYPE,
} from '@switchyard/contracts';
import { BodyIntake, type BodyIntakeOptions, type IntakeDeps } from '../../http/body-intake.ts';
import { check } from '../../http/read-body.ts';
import { AUDIO_LIMIT, audioBuffer } from './audio-buffer.ts';
import { AudioMemberScanner } from './audio-member-scanner.ts';
import { Base64Decoder } from './base64-decoder.ts';
import { readAudioForm } from './read-audio-form.ts';

/** The content of either form, before its fields are validated. */
export interface ReadTranscription {
  audio: Buffer;
  /** Name of the field with the audio: `file` or `audio`. */
  audioField: string;
  fields: Record<string, unknown>;
}

interface TranscriptionRequest {
  model: string | undefined;
  models: string[] | undefined;
  params: TranscriptionParams;
  audio: Buffer;
  /** Returns the audio's memory to the budget. */
  release(): void;
}

type FormDeps = IntakeDeps & Pick<BodyIntakeOptions, 'org'>;

/** Maximum bytes of a multipart form: its audio, its fields and the separators. */
const FORM_BYTES_MAX = AUDIO_BYTES_MAX + 2 * TRANSCRIPTION_FIELDS_BYTES_MAX;
/** Maximum bytes of the JSON form: base64 adds a third, its line breaks and escapes a little. */
export const TRANSCRIPTION_BODY_BYTES_MAX =
  Math.ceil((AUDIO_BYTES_MAX * 3) / 2) + TRANSCRIPTION_FIELDS_BYTES_MAX;

/** @throws ServiceError for an invalid request; the rest of its body is discarded as it arrives */
export async function readTranscription(raw: IncomingMessage, deps: FormDeps): Promise<TranscriptionRequest> {
  const contentType = raw.headers['content-type'] ?? '';
  const read = READ_BY_TYPE[contentType.split(';')[0]?.trim().toLowerCase() ?? ''];
  if (!read) {
    raw.resume(); // discards the body, so that the client reads the answer
    const message =
      'Unsupported content type. Send multipart/form-data with a file, or application/json with base64 audio.';
    throw new ServiceError('unsupported_media_type', message);
  }
  const { intake, form } = read(raw, deps, contentType);
  try {
    return { ...checkForm(await form), release: () => intake.release() };
  } catch (error) {
    intake.release();
    raw.resume();
    throw error;
  }
}

interface Reading {
  intake: BodyIntake;
  form: Promise<ReadTranscription>;
}

const READ_BY_TYPE: Readonly<
  Record<string, (raw: IncomingMessage, deps: FormDeps, contentType: string) => Reading>
> = {
  'multipart/form-data': (raw, deps, contentType) => {
    const memoryFor = (bytes: number) => Math.min(bytes, AUDIO_BYTES_MAX);
    const intake = new BodyIntake(raw, { ...deps, bytesMax: FORM_BYTES_MAX, limit: AUDIO_LIMIT, memoryFor });
    return { intake, form: readAudioForm(intake, contentType) };
  },
  'application/json': (raw, deps) => {
    const memoryFor = (bytes: number) => Math.min(decodedBytes(bytes), AUDIO_BYTES_MAX);
    const bytesMax = TRANSCRIPTION_BODY_BYTES_MAX;
    const intake = new BodyIntake(raw, { ...deps, bytesMax, limit: AUDIO_LIMIT, memoryFor });
    return { intake, form: readAudioJson(intake) };
  },
};

async function readAudioJson(intake: BodyIntake): Promise<ReadTranscription> {
  const { declaredBytes } = intake;
  const audio = audioBuffer(declaredBytes === null ? null : decodedBytes(declaredBytes));
  const scanner = new AudioMemberScanner(new Base64Decoder(audio));
  await intake.read((piece) => scanner.push(piece));
  const fields = scanner.end();
  if (fields.media_type === undefined || fields.media_type === null)
    throw invalidParam('media_type', 'is missing. Send the type of the audio.');
  return { audio: audio.bytes, audioField: 'audio', fields };
}

function decodedBytes(base64Bytes: number): number {
  return Math.ceil((base64Bytes * 3) / 4);
}

function checkForm({ audio, audioField, fields }: ReadTranscription): Omit<TranscriptionRequest, 'release'> {
  const { model, models, ...params } = check(transcriptionFields, fields);
  if (audio.length === 0) throw invalidParam(audioField, 'is empty. Send audio.');
  const mediaType = mediaTypeOf(params.media_type, params.filename, audioField);
  const filename = params.filename ?? `audio.${endingOf(mediaType)}`;
  return { model, models, params: { ...params, media_type: mediaType, filename }, audio };
}

/**
 * The declared type, or else that of the file's name; without either, the file itself is examined later.
 * @throws ServiceError `invalid_request` for an unknown audio type
 */
function mediaTypeOf(
  declared: string | null | undefined,
  filename: string | null | undefined,
  audioField: string,
): string {
  if (declared && audioFormatOf(declared)) return declared;
  const format = filename ? audioFormatOfFile(filename) : null;
  if (format) return AUDIO_FORMATS[format].mediaType;
  if (!declared || declared.toLowerCase() === UNKNOWN_MEDIA_TYPE) return UNKNOWN_MEDIA_TYPE;
  const param = audioField === 'audio' ? 'media_type' : audioField;
  const known = Object.values(AUDIO_FORMATS).map(({ mediaType }) => mediaType);
  throw invalidParam(param, `${declared} is not a supported audio type; use one of ${known.join(', ')}`);
}

function endingOf(mediaType: string): string {
  const format = audioFormatOf(mediaType);
  return format ? AUDIO_FORMATS[format].extensions[0] : 'bin';
}

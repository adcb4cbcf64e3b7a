// The multipart form: one file, its fields before or after it, all as text.
import { once } from 'node:events';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ServiceError, TRANSCRIPTION_FIELDS_BYTES_MAX } from '@switchyard/contracts';
import type { BodyBuffer } from '../../http/body-buffer.ts';
import type { BodyIntake } from '../../http/body-intake.ts';
import { audioBuffer } from './audio-buffer.ts';
import { FormFields } from './form-fields.ts';
import type { ReadTranscription } from './read-transcription.ts';

const FILE_FIELD = 'file';
/** Fields of a form, repeated ones counted each. */
const FIELDS_MAX = 128;
const PART_HEADER_BYTES_MAX = 8 * 1024;
/** What the parser says of a part that does not tell its type. */
const UNTOLD_BY_PARSER = 'text/plain';

/** @throws ServiceError `invalid_multipart`, `invalid_request` naming the field, `body_too_large`; those of the intake */
export async function readAudioForm(intake: BodyIntake, contentType: string): Promise<ReadTranscription> {
  const audio = audioBuffer(intake.declaredBytes);
  const form = new AudioForm(openParser(contentType), audio);
  await intake.read((piece) => form.write(piece));
  const { file, fields } = await form.end();
  return {
    audio: audio.bytes,
    audioField: FILE_FIELD,
    fields: {
      ...fields,
      media_type: fields.media_type ?? file.mediaType,
      filename: fields.filename ?? file.name,
    },
  };
}

interface FileHead {
  name: string | undefined;
  mediaType: string | undefined;
}

class AudioForm {
  readonly #parser: BusboyInstance;
  readonly #fields = new FormFields(TRANSCRIPTION_FIELDS_BYTES_MAX);
  readonly #audio: BodyBuffer;
  readonly #finished: Promise<void>;
  #file: FileHead | null = null;
  #error: unknown = null;

  constructor(parser: BusboyInstance, audio: BodyBuffer) {
    this.#parser = parser;
    this.#audio = audio;
    this.#finished = new Promise((resolve, reject) => {
      parser.once('finish', resolve);
      parser.on('error', (cause) => {
        this.#error ??= malformed(cause);
        reject(this.#error);
      });
    });
    this.#finished.catch(() => {}); // who ends the form hears of it
    parser.on('file', (field, stream, name, _encoding, mediaType) => {
      stream.on('error', () => {}); // the parser reports it too
      const refusal = this.#refuseFile(field);
      if (refusal) {
        this.#error ??= refusal;
        stream.resume();
        return;
      }
      this.#file = {
        name: name === '' ? undefined : name,
        mediaType: mediaType === UNTOLD_BY_PARSER ? undefined : mediaType,
      };
      stream.on('data', (bytes: Buffer) => this.#guard(() => this.#audio.append(bytes)));
    });
    parser.on('field', (name, value, _nameTruncated, truncated) =>
      this.#guard(() => this.#fields.add(name, value, truncated)),
    );
    parser.on('fieldsLimit', () => {
      this.#error ??= new ServiceError('invalid_request', `a form has at most ${FIELDS_MAX} fields`);
    });
  }

  /** @throws what is wrong with what has come until now. */
  write(piece: Buffer): void | Promise<void> {
    const more = this.#parser.write(piece);
    if (this.#error) throw this.#error;
    if (!more) return Promise.race([once(this.#parser, 'drain').then(() => {}), this.#finished]);
  }

  async end(): Promise<{ file: FileHead; fields: Record<string, unknown> }> {
    this.#parser.end();
    await this.#finished;
    if (this.#error) throw this.#error;
    if (!this.#file) throw refuse('is required: the audio, as a file of the form');
    return { file: this.#file, fields: this.#fields.read() };
  }

  #refuseFile(field: string): ServiceError | null {
    if (field !== FILE_FIELD)
      return new ServiceError(
        'invalid_request',
        `${field}: a form has one file, and it is called ${FILE_FIELD}`,
        {
          param: field,
        },
      );
    return this.#file ? refuse('is there twice: one file is transcribed at a time') : null;
  }

  #guard(run: () => void): void {
    try {
      if (!this.#error) run();
    } catch (error) {
      this.#error = error;
    }
  }
}

/** @throws ServiceError `invalid_multipart` */
function openParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        fields: FIELDS_MAX,
        fieldSize: TRANSCRIPTION_FIELDS_BYTES_MAX,
        headerSize: PART_HEADER_BYTES_MAX,
      },
    });
  } catch (cause) {
    throw malformed(cause);
  }
}

function malformed(cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError('invalid_multipart', `the body is no multipart form that can be read: ${why}`, {
    cause,
  });
}

function refuse(what: string): ServiceError {
  return new ServiceError('invalid_request', `${FILE_FIELD}: ${what}`, { param: FILE_FIELD });
}

// The form of an upload, read as it comes: one file, handed on piece by piece, and fields before or after it that change
// nothing. Nothing of the file is held here beyond the parser's own pieces; who takes them slowly slows the socket.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import {
  FILE_BYTES_MAX,
  FILENAME_BYTES_MAX,
  MEDIA_TYPE_DEFAULT,
  MEDIA_TYPE_PATTERN,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { STALLED_UPLOAD_MS_MAX } from '../http/limits.ts';

const FILE_FIELD = 'file';
/** Fields that are taken and have no meaning: what clients of OpenAI send. */
const IGNORED_FIELDS: readonly string[] = ['purpose'];
const FIELDS_MAX = 16;
const FIELD_BYTES_MAX = 4 * 1024;
const PART_HEADER_BYTES_MAX = 8 * 1024;
/** Everything of a form that is not its file, generously: what it promises beyond that is the file's. */
const FORM_OVERHEAD_BYTES_MAX = 128 * 1024;
/** Bytes of the request that carries the largest file. */
export const UPLOAD_BODY_BYTES_MAX = FILE_BYTES_MAX + FORM_OVERHEAD_BYTES_MAX;

export interface ArrivingFile {
  readonly filename: string;
  readonly mediaType: string;
  /** The file has at least so many bytes: what the request promises, less what else may be in it. */
  readonly bytesMin: number;
  /**
   * Its content, to be read once. It ends when the whole form has, and was right: what comes after the file counts too.
   * Throws ServiceError `invalid_multipart`, `invalid_request`, `unknown_field`, `body_timeout`.
   */
  readonly content: AsyncIterable<Buffer>;
}

export class FileForm {
  readonly #raw: IncomingMessage;
  readonly #clock: Clock;
  readonly #parser: BusboyInstance;
  readonly #arrived = Promise.withResolvers<ArrivingFile>();
  readonly #finished = Promise.withResolvers<void>();
  #file: Readable | null = null;
  #over = false;
  #moved = false;
  #stopClock = () => {};

  /** @throws ServiceError `unsupported_media_type`, `invalid_multipart`, `body_too_large`. */
  constructor(raw: IncomingMessage, clock: Clock) {
    this.#raw = raw;
    this.#clock = clock;
    if ((declaredBytes(raw) ?? 0) > UPLOAD_BODY_BYTES_MAX) throw tooLarge();
    this.#parser = openParser(raw.headers['content-type'] ?? '');
    this.#arrived.promise.catch(() => {}); // who asks for the file hears of it ...
    this.#finished.promise.catch(() => {}); // ... and who reads it to its end
    this.#listen();
  }

  /** The file, once its part begins. Throws as `ArrivingFile.content` does. */
  read(): Promise<ArrivingFile> {
    this.#raw.pipe(this.#parser);
    this.#raw.on('data', () => {
      this.#moved = true;
    });
    this.#watchPace();
    return this.#arrived.promise;
  }

  /** Nobody wants the rest: it is taken off the socket and dropped, so that the client reads its answer. */
  discard(): void {
    this.#fail(new ServiceError('invalid_request', 'the upload was given up'));
    this.#raw.unpipe(this.#parser);
    this.#raw.resume();
    this.#file?.destroy();
  }

  #listen(): void {
    this.#raw.on('close', () => {
      if (!this.#raw.complete) this.#fail(malformed(new Error('the connection was closed before its end')));
    });
    this.#raw.on('error', (cause) => this.#fail(malformed(cause)));
    this.#parser.on('error', (cause) => this.#fail(malformed(cause)));
    this.#parser.on('file', (field, stream, name, _encoding, mediaType) => {
      stream.on('error', () => {}); // the parser reports it too
      const refusal = this.#refuseFile(field);
      if (refusal) {
        stream.resume();
        return this.#fail(refusal);
      }
      this.#begin(stream, name, mediaType);
    });
    this.#parser.on('field', (name, _value, _nameTruncated, truncated) => {
      const refusal = refuseField(name, truncated);
      if (refusal) this.#fail(refusal);
    });
    this.#parser.on('fieldsLimit', () =>
      this.#fail(new ServiceError('invalid_request', `a form has at most ${FIELDS_MAX} fields`)),
    );
    this.#parser.once('finish', () => this.#finish());
  }

  #begin(stream: Readable, name: string | undefined, mediaType: string): void {
    this.#file = stream;
    try {
      this.#arrived.resolve({
        filename: toFilename(name),
        mediaType: MEDIA_TYPE_PATTERN.test(mediaType) ? mediaType : MEDIA_TYPE_DEFAULT,
        bytesMin: Math.max(0, (declaredBytes(this.#raw) ?? 0) - FORM_OVERHEAD_BYTES_MAX),
        content: this.#content(stream),
      });
    } catch (error) {
      stream.resume();
      this.#fail(error);
    }
  }

  async *#content(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const piece of stream) yield piece as Buffer;
    } catch (error) {
      await this.#finished.promise; // the form's own words for it
      throw error;
    }
    await this.#finished.promise;
  }

  #finish(): void {
    if (!this.#file) return this.#fail(refuse(FILE_FIELD, 'is required: a part of the form with a filename'));
    this.#settle();
    this.#finished.resolve();
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#settle();
    this.#arrived.reject(error);
    this.#finished.reject(error);
    this.#file?.destroy();
  }

  #settle(): void {
    this.#over = true;
    this.#stopClock();
  }

  #refuseFile(field: string): ServiceError | null {
    if (field !== FILE_FIELD) return unknownField(field);
    return this.#file ? refuse(FILE_FIELD, 'is there twice; an upload is one file') : null;
  }

  /** A socket that is not read, because the store is slow, is not its client's fault. */
  #watchPace(): void {
    if (this.#over) return;
    this.#moved = false;
    this.#stopClock = this.#clock.after(STALLED_UPLOAD_MS_MAX, () => {
      if (this.#moved || this.#raw.isPaused()) return this.#watchPace();
      const message = `nothing of the body came for ${STALLED_UPLOAD_MS_MAX / 1_000} s`;
      this.#fail(new ServiceError('body_timeout', message));
    });
  }
}

/** Node has refused a Content-Length that is no number before. */
function declaredBytes(raw: IncomingMessage): number | null {
  const length = raw.headers['content-length'];
  return length === undefined ? null : Number(length);
}

function openParser(contentType: string): BusboyInstance {
  if (!/^multipart\/form-data\b/i.test(contentType))
    throw new ServiceError(
      'unsupported_media_type',
      'send the file as Content-Type: multipart/form-data, in a part that is called file',
    );
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { fields: FIELDS_MAX, fieldSize: FIELD_BYTES_MAX, headerSize: PART_HEADER_BYTES_MAX },
    });
  } catch (cause) {
    throw malformed(cause);
  }
}

/** @throws ServiceError `invalid_request` for one that no file can have. */
function toFilename(name: string | undefined): string {
  const clean = (name ?? '')
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  if (Buffer.byteLength(clean) > FILENAME_BYTES_MAX)
    throw refuse(FILE_FIELD, `has a name of over ${FILENAME_BYTES_MAX} bytes`);
  return clean === '' || clean === '.' || clean === '..' ? 'file' : clean;
}

function refuseField(name: string, truncated: boolean): ServiceError | null {
  if (name === FILE_FIELD) return refuse(FILE_FIELD, 'must be a file: a part of the form with a filename');
  if (!IGNORED_FIELDS.includes(name)) return unknownField(name);
  return truncated ? refuse(name, `is over ${FIELD_BYTES_MAX} bytes`) : null;
}

function unknownField(name: string): ServiceError {
  const param = name.slice(0, 100);
  return new ServiceError('unknown_field', `${param} is not a field of an upload: it has ${FILE_FIELD}`, {
    param,
  });
}

function refuse(param: string, what: string): ServiceError {
  return new ServiceError('invalid_request', `${param}: ${what}`, { param });
}

function tooLarge(): ServiceError {
  return new ServiceError('body_too_large', `${FILE_FIELD}: at most ${FILE_BYTES_MAX} bytes (512 MB)`, {
    param: FILE_FIELD,
  });
}

function malformed(cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError('invalid_multipart', `the body is no multipart form that can be read: ${why}`, {
    cause,
  });
}

// Reads the form of an upload as it arrives: one file, passed on piece by piece, and fields before or after it.
// Only the parser's own pieces are buffered; a slow reader slows the socket.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import {
  FILE_BYTES_MAX,
  FILENAME_BYTES_MAX,
  type FileStoreTrailer,
  invalidParam,
  MEDIA_TYPE_DEFAULT,
  MEDIA_TYPE_PATTERN,
  ServiceError,
  uploadFields,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { type FilePart, MultipartForm } from '../http/multipart-form.ts';
import { check } from '../http/read-body.ts';
import { declaredBytes, streamedBody } from '../http/streamed-body.ts';

const FILE_FIELD = 'file';
const FIELDS_MAX = 16;
const FIELD_BYTES_MAX = 4 * 1024;
/** Upper bound for everything in a form except its file. */
const FORM_OVERHEAD_BYTES_MAX = 128 * 1024;
/** Maximum bytes of the request for the largest file. */
export const UPLOAD_BODY_BYTES_MAX = FILE_BYTES_MAX + FORM_OVERHEAD_BYTES_MAX;

export interface ArrivingFile {
  readonly filename: string;
  readonly mediaType: string;
  /** Lower bound of the file's size: the request's length less the maximum overhead. */
  readonly bytesMin: number;
  /**
   * The content, readable once. It ends when the whole form was valid, including the fields after the file.
   * Throws ServiceError `invalid_multipart`, `invalid_request`, `unknown_field`, `body_timeout`.
   */
  readonly content: AsyncIterable<Buffer>;
  /** The fields' values; complete when the content has ended. */
  trailer(): FileStoreTrailer;
}

export class FileForm {
  readonly #raw: IncomingMessage;
  readonly #clock: Clock;
  readonly #form: MultipartForm;
  readonly #arrived = Promise.withResolvers<ArrivingFile>();
  readonly #finished = Promise.withResolvers<void>();
  readonly #fields = new Map<string, string>();
  #file: Readable | null = null;

  /** @throws ServiceError `unsupported_media_type`, `invalid_multipart`, `body_too_large`. */
  constructor(raw: IncomingMessage, clock: Clock) {
    this.#raw = raw;
    this.#clock = clock;
    if ((declaredBytes(raw) ?? 0) > UPLOAD_BODY_BYTES_MAX) throw tooLarge();
    this.#form = new MultipartForm(multipartType(raw), {
      fieldsMax: FIELDS_MAX,
      fieldBytesMax: FIELD_BYTES_MAX,
      onFile: (file) => this.#begin(file),
      onField: (name, value, truncated) => {
        checkField(name, truncated);
        this.#fields.set(name, value);
      },
    });
    this.#arrived.promise.catch(() => {}); // reported by `read` ...
    this.#finished.promise.catch(() => {}); // ... and at the end of the content
  }

  /** Resolves with the file when its part begins. Throws as `ArrivingFile.content` does. */
  read(): Promise<ArrivingFile> {
    this.#pump().then(this.#finished.resolve, (error: unknown) => {
      this.#arrived.reject(error);
      this.#finished.reject(error);
      this.#file?.destroy();
    });
    return this.#arrived.promise;
  }

  /** Discards the rest: it is read off the socket, so that the client reads its answer. */
  discard(): void {
    this.#form.fail(new ServiceError('invalid_request', 'The upload was cancelled.'));
    this.#raw.resume();
    this.#file?.destroy();
  }

  async #pump(): Promise<void> {
    const body = streamedBody(this.#raw, { clock: this.#clock, bytesMax: Number.POSITIVE_INFINITY });
    for await (const piece of body) await this.#form.write(piece);
    await this.#form.end();
    this.#trailer();
    if (!this.#file) throw invalidParam(FILE_FIELD, 'is required. Send the file as a part with a filename.');
  }

  /** @throws ServiceError for a file that the form may not have */
  #begin({ field, filename, mediaType, content }: FilePart): void {
    if (field !== FILE_FIELD) throw unknownField(field);
    if (this.#file) throw invalidParam(FILE_FIELD, 'is given twice. Upload one file at a time.');
    const name = toFilename(filename);
    this.#file = content;
    this.#arrived.resolve({
      filename: name,
      mediaType: MEDIA_TYPE_PATTERN.test(mediaType) ? mediaType : MEDIA_TYPE_DEFAULT,
      bytesMin: Math.max(0, (declaredBytes(this.#raw) ?? 0) - FORM_OVERHEAD_BYTES_MAX),
      content: this.#content(content),
      trailer: () => this.#trailer(),
    });
  }

  /** @throws ServiceError `invalid_request`, `unknown_field` */
  #trailer(): FileStoreTrailer {
    const fields = check(uploadFields, Object.fromEntries(this.#fields));
    const seconds = fields['expires_after[seconds]'];
    if (fields['expires_after[anchor]'] && seconds === undefined)
      throw invalidParam('expires_after[seconds]', 'is required with expires_after[anchor].');
    return { purpose: fields.purpose, expires_after_seconds: seconds ?? null };
  }

  async *#content(stream: Readable): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const piece of stream) yield piece as Buffer;
    } catch (error) {
      await this.#finished.promise; // throws the form's own error instead, if there is one
      throw error;
    }
    await this.#finished.promise;
  }
}

/** @throws ServiceError `unsupported_media_type` */
function multipartType({ headers }: IncomingMessage): string {
  const type = headers['content-type'] ?? '';
  if (/^multipart\/form-data\b/i.test(type)) return type;
  throw new ServiceError(
    'unsupported_media_type',
    `Unsupported content type. Send multipart/form-data with a part named ${FILE_FIELD}.`,
  );
}

/** @throws ServiceError `invalid_request` for an invalid file name. */
function toFilename(name: string | undefined): string {
  const clean = (name ?? '')
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
  if (Buffer.byteLength(clean) > FILENAME_BYTES_MAX)
    throw invalidParam(
      FILE_FIELD,
      `has a name of more than ${FILENAME_BYTES_MAX} bytes. Use a shorter name.`,
    );
  return clean === '' || clean === '.' || clean === '..' ? 'file' : clean;
}

/** Refuses a field as it arrives. @throws ServiceError `invalid_request`, `unknown_field` */
function checkField(name: string, truncated: boolean): void {
  if (name === FILE_FIELD)
    throw invalidParam(FILE_FIELD, 'is not a file. Send it as a part with a filename.');
  if (!Object.hasOwn(uploadFields.shape, name)) throw unknownField(name);
  if (truncated) throw invalidParam(name, `exceeds ${FIELD_BYTES_MAX} bytes. Send less.`);
}

function unknownField(name: string): ServiceError {
  const param = name.slice(0, 100);
  return new ServiceError('unknown_field', `Unknown field: ${param}. Remove it.`, {
    param,
  });
}

function tooLarge(): ServiceError {
  const message = `${FILE_FIELD}: exceeds ${FILE_BYTES_MAX} bytes (512 MB). Send a smaller file.`;
  return new ServiceError('body_too_large', message, { param: FILE_FIELD });
}

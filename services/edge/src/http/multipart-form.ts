// Parses a multipart form while it arrives; callbacks receive the files and fields. A slow reader of a file slows the
// writer.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ServiceError } from '@switchyard/contracts';

const PART_HEADER_BYTES_MAX = 8 * 1024;

export interface FilePart {
  readonly field: string;
  readonly filename: string | undefined;
  readonly mediaType: string;
  readonly content: Readable;
}

interface MultipartFormOptions {
  /** Maximum fields; repeated fields each count. */
  readonly fieldsMax: number;
  readonly fieldBytesMax: number;
  /** Receives a file and must read its content. An error that it throws is the error of the form. */
  onFile(file: FilePart): void;
  /** Receives a field, as `onFile`. */
  onField(name: string, value: string, truncated: boolean): void;
}

export class MultipartForm {
  readonly #parser: BusboyInstance;
  readonly #finished = Promise.withResolvers<void>();
  #error: unknown = null;

  /** @throws ServiceError `invalid_multipart` without a valid boundary */
  constructor(contentType: string, { fieldsMax, fieldBytesMax, onFile, onField }: MultipartFormOptions) {
    this.#finished.promise.catch(() => {}); // reported by `write` and `end`
    this.#parser = openParser(contentType, fieldsMax, fieldBytesMax);
    this.#parser.once('finish', this.#finished.resolve);
    this.#parser.on('error', (cause) => this.fail(malformedFormError(cause)));
    this.#parser.on('file', (name: string | undefined, content, filename, _encoding, mediaType) => {
      content.on('error', () => {}); // the parser reports the error too
      const call = (field: string) => onFile({ field, filename, mediaType, content });
      if (!this.#callUnlessFailed(name, call)) content.resume();
    });
    this.#parser.on('field', (name: string | undefined, value, _nameTruncated, truncated) =>
      this.#callUnlessFailed(name, (field) => onField(field, value, truncated)),
    );
    this.#parser.on('fieldsLimit', () =>
      this.fail(
        new ServiceError('invalid_request', `The form has more than ${fieldsMax} fields. Send fewer.`),
      ),
    );
  }

  /** @throws the first error found so far */
  write(piece: Buffer): void | Promise<void> {
    const more = this.#parser.write(piece);
    if (this.#error) throw this.#error;
    if (!more) return Promise.race([once(this.#parser, 'drain').then(() => {}), this.#finished.promise]);
  }

  /** Resolves when the callbacks have received all parts. @throws the first error of the form */
  async end(): Promise<void> {
    this.#parser.end();
    await this.#finished.promise;
    if (this.#error) throw this.#error;
  }

  /** Ends the form with an error, also a pending `write`; later errors are ignored. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.#finished.reject(this.#error);
  }

  /** Passes on a part; one without a name fails the form. Returns false when the form has failed. */
  #callUnlessFailed(name: string | undefined, callback: (name: string) => void): boolean {
    try {
      if (name === undefined) throw malformedFormError('a part has no name');
      if (!this.#error) callback(name);
    } catch (error) {
      this.fail(error);
    }
    return !this.#error;
  }
}

function openParser(contentType: string, fields: number, fieldSize: number): BusboyInstance {
  try {
    const limits = { fields, fieldSize, headerSize: PART_HEADER_BYTES_MAX };
    return new Busboy({ headers: { 'content-type': contentType }, limits });
  } catch (cause) {
    throw malformedFormError(cause);
  }
}

function malformedFormError(cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError('invalid_multipart', `Invalid multipart form (${why}). Send the whole form.`, {
    cause,
  });
}

// The body of an upload as it crosses the bus: the content, then a trailer of fixed length with the form's fields.
import { FILE_STORE_TRAILER_BYTES, type FileStoreTrailer, fileStoreTrailer } from '@switchyard/contracts';

export class UploadBody {
  readonly #body: AsyncIterable<Buffer>;
  /** The last bytes so far; they may be the trailer. */
  #held = Buffer.alloc(0);

  constructor(body: AsyncIterable<Buffer>) {
    this.#body = body;
  }

  /** The content, readable once, in bounded memory. */
  async *content(): AsyncGenerator<Buffer, void, undefined> {
    for await (const piece of this.#body) {
      const bytes = Buffer.concat([this.#held, piece]);
      const end = Math.max(0, bytes.length - FILE_STORE_TRAILER_BYTES);
      if (end > 0) yield bytes.subarray(0, end);
      this.#held = bytes.subarray(end);
    }
  }

  /** The form's fields; known once the content has ended. */
  trailer(): FileStoreTrailer {
    return fileStoreTrailer.parse(JSON.parse(this.#held.toString()));
  }
}

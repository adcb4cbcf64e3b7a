// Collects a body as it arrives. Memory is allocated once, for the declared length, and filled without a second copy.
import { ServiceError } from '@switchyard/contracts';
import { LARGE_BODY_BYTES_MIN } from '@switchyard/service';

const NOTHING = Buffer.alloc(0);

interface BodyBufferOptions {
  /** Upper bound of the length, if known. */
  expectedBytes: number | null;
  bytesMax: number;
  /** Error message for a larger body. */
  limit: string;
}

export class BodyBuffer {
  readonly #options: BodyBufferOptions;
  readonly #capacity: number;
  #memory: Buffer = NOTHING;
  #length = 0;

  constructor(options: BodyBufferOptions) {
    this.#options = options;
    this.#capacity = Math.min(options.expectedBytes ?? options.bytesMax, options.bytesMax);
  }

  /** The bytes received so far, without a copy. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** @throws ServiceError `body_too_large` */
  append(bytes: Buffer): void {
    if (this.#length === 0 && bytes.length === this.#options.expectedBytes) {
      this.#memory = bytes; // the body arrived in one piece
      this.#length = bytes.length;
      return;
    }
    this.#makeRoom(bytes.length);
    this.#memory.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * Appends decoded base64. Returns false when the text has other characters.
   * @throws ServiceError `body_too_large`
   */
  appendBase64(text: string): boolean {
    const bytes = Math.floor((text.length * 3) / 4);
    this.#makeRoom(bytes);
    // Node's decoder skips unknown characters, so they show as missing bytes.
    const written = this.#memory.write(text, this.#length, 'base64');
    this.#length += written;
    return written === bytes;
  }

  /** Allocates memory with the first bytes, not earlier: a request may wait long for its turn. */
  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#memory.length) return;
    if (needed > this.#capacity) throw new ServiceError('body_too_large', this.#options.limit);
    // Without a declared length: this much needs no place in the byte budget, and a larger body has a place by then.
    const isSmall = this.#options.expectedBytes === null && needed <= LARGE_BODY_BYTES_MIN;
    const larger = Buffer.allocUnsafeSlow(
      Math.min(isSmall ? LARGE_BODY_BYTES_MIN : this.#capacity, this.#capacity),
    );
    larger.set(this.bytes);
    this.#memory = larger;
  }
}

// The body of a call being served. Its frames must arrive in order; credit is granted as the body is read.
import { ServiceError } from '@switchyard/contracts';
import { ByteQueue } from './byte-queue.ts';
import { FRAME, type Frame } from './frame.ts';
import { WINDOW_BYTES } from './limits.ts';

export class IncomingBody {
  readonly chunks: ByteQueue;
  #expectedSeq = 0;
  #owed = 0;

  constructor(grant: (bytes: number) => void) {
    this.chunks = new ByteQueue({
      consumed: (bytes) => {
        this.#owed += bytes;
        if (this.#owed < WINDOW_BYTES / 2) return;
        grant(this.#owed);
        this.#owed = 0;
      },
    });
  }

  received(frame: Frame): void {
    if (frame.seq !== this.#expectedSeq++)
      return this.chunks.fail(
        new ServiceError('service_unavailable', 'Part of the body was lost. Send the request again.'),
      );
    if (frame.kind === FRAME.end) this.chunks.end(frame.data);
    else this.chunks.push(frame.data);
  }
}

/** @throws ServiceError as soon as more than `bytesMax` have arrived: by default `body_too_large` */
export async function collectBody(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
  tooLarge = () => new ServiceError('body_too_large', `The body exceeds ${bytesMax} bytes. Send less.`),
): Promise<Buffer> {
  const collected: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge();
    collected.push(chunk);
  }
  return Buffer.concat(collected, bytes);
}

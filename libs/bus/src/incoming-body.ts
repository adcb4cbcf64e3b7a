// The body of a call being served, as its frames come: in order or not at all, and granted as it is read.
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
        new ServiceError('service_unavailable', 'part of the body was lost on the way'),
      );
    if (frame.kind === FRAME.end) this.chunks.end(frame.data);
    else this.chunks.push(frame.data);
  }
}

/** @throws ServiceError `body_too_large` as soon as more than `bytesMax` have come. */
export async function collectBody(chunks: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const collected: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new ServiceError('body_too_large', `the body is over ${bytesMax} bytes`);
    collected.push(chunk);
  }
  return Buffer.concat(collected, bytes);
}

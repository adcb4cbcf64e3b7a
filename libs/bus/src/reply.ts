// A reply that is read in a loop at the reader's own pace, instead of by callbacks.
import type { ServiceError } from '@switchyard/contracts';
import type { Bus } from './bus.ts';
import { ByteQueue } from './byte-queue.ts';
import type { CallRequest } from './outgoing-call.ts';

export interface Reply {
  readonly head: unknown;
  /**
   * The body, to be read once. Reading on lets the service send more; leaving the loop cancels the call. When the
   * service fails, the bytes it had sent are read first.
   * As a stream: `Readable.from(reply.body, { objectMode: false })`.
   */
  readonly body: AsyncIterableIterator<Buffer, undefined, undefined>;
  /** The service's end data; arrives with the last byte. */
  readonly end: Promise<unknown>;
  /** The rest of the reply is not needed. */
  cancel(): void;
}

/**
 * Makes a call and resolves with its reply when the head arrives.
 * @param signal aborting it cancels the call; the reader gets its reason
 * @throws ServiceError of the service, or `service_unavailable`; after the head, `body` and `end` throw it.
 */
export function openReply(bus: Bus, request: CallRequest, signal?: AbortSignal): Promise<Reply> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const opened = Promise.withResolvers<Reply>();
  const ended = Promise.withResolvers<unknown>();
  ended.promise.catch(() => {}); // the reader of the body gets the error too
  const body = new ByteQueue({
    consumed: (bytes) => call.consumed(bytes),
    abandoned: () => cancel(new Error('the reply was not read to its end')),
  });
  const settled = () => signal?.removeEventListener('abort', onAbort);
  const failed = (error: Error) => {
    settled();
    opened.reject(error);
    ended.reject(error);
  };
  const cancel = (reason: Error) => {
    call.cancel();
    failed(reason);
    body.fail(reason);
  };
  const onAbort = () => cancel(signal?.reason);
  const call = bus.call(request, {
    onHead: (head) => opened.resolve({ head, body, end: ended.promise, cancel: () => cancel(cancelled()) }),
    onData: (bytes) => body.push(bytes),
    onEnd: (end, last) => {
      settled();
      body.end(last);
      ended.resolve(end);
    },
    onError: (error: ServiceError) => {
      failed(error);
      body.breakOff(error);
    },
  });
  signal?.addEventListener('abort', onAbort, { once: true });
  return opened.promise;
}

const cancelled = () => new Error('the call was cancelled');

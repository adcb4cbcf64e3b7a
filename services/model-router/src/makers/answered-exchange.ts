// An exchange whose answer is made by a function and read as an async iterable, as the local models' and the AI SDK's
// are: told to the sink piece by piece, held back while the caller reads slowly, ended by a signal.
import type { Exchange, UpstreamHead, UpstreamSink } from './maker.ts';

export interface MadeAnswer extends UpstreamHead {
  body: AsyncIterable<Uint8Array>;
}

/** Starts `answer` and tells the sink of it; what it throws is the sink's error, unless the exchange was aborted. */
export function answeredExchange(
  answer: (signal: AbortSignal) => Promise<MadeAnswer>,
  sink: UpstreamSink,
): Exchange {
  const ending = new AbortController();
  const gate = new Gate();
  const run = async () => {
    const { body, ...head } = await answer(ending.signal);
    if (ending.signal.aborted) return;
    sink.onHead(head);
    for await (const bytes of body) {
      await gate.open();
      if (ending.signal.aborted) return;
      sink.onData(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    }
    if (!ending.signal.aborted) sink.onEnd();
  };
  run().catch((error: unknown) => {
    if (!ending.signal.aborted) sink.onError(error instanceof Error ? error : new Error(String(error)));
  });
  return {
    pause: () => gate.close(),
    resume: () => gate.release(),
    abort: () => {
      ending.abort();
      gate.release();
    },
  };
}

/** Holds a loop back while it is closed. */
class Gate {
  #wait: Promise<void> | null = null;
  #release: (() => void) | null = null;

  close(): void {
    this.#wait ??= new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#release?.();
    this.#wait = null;
    this.#release = null;
  }

  open(): Promise<void> | undefined {
    return this.#wait ?? undefined;
  }
}

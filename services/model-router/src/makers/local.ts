// The models that run inside the router: no key, no network.
import type { ModelType } from '@switchyard/contracts';
import { answerLocally } from '../local/index.ts';
import type { Exchange, Maker, UpstreamRequest, UpstreamSink } from './maker.ts';

/** Transcription waits for its endpoint. */
const TYPES: readonly ModelType[] = ['language', 'embedding', 'image', 'speech', 'decision', 'rerank'];

export function localModels(now: () => number): Maker {
  return { types: TYPES, start: (request, sink) => start(now, request, sink) };
}

function start(now: () => number, request: UpstreamRequest, sink: UpstreamSink): Exchange {
  const ending = new AbortController();
  const gate = new Gate();
  const run = async () => {
    const { type, upstream, body, stream } = request;
    const answer = await answerLocally({
      type,
      model: upstream.model,
      body,
      stream,
      signal: ending.signal,
      now,
    });
    if (ending.signal.aborted) return;
    sink.onHead({ status: answer.status, contentType: answer.contentType, retryAfterS: null });
    for await (const bytes of answer.body) {
      await gate.open();
      if (ending.signal.aborted) return;
      sink.onData(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    }
    sink.onEnd();
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

// Fills schemas in a thread of its own, since a caller's schema can take any time and memory: a pattern that backtracks
// for years, a million items. The thread is started at the first schema, kept, and replaced when a schema overruns it.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Places } from '@switchyard/service';
import { LocalRefusal } from '../../local-refusal.ts';
import type { Json, JsonSchema } from './json-schema.ts';

export interface FillJob {
  schema: JsonSchema;
  text: string;
  /** The reply; undefined: no property asks for it. */
  reply?: string;
}

/** Fills the schema from the text. @throws LocalRefusal 400 naming the reason, the signal's reason */
export type FillSchema = (job: FillJob) => Promise<Json>;

/** What the thread answers; `refusal` says why the schema cannot be filled. */
export type FillAnswer = { value: Json } | { refusal: string };

/** For all schemas of a call: one for each tool that it calls. Usual schemas take a few milliseconds. */
const FILL_MS_MAX = 2_000;
/** Usually a tenth of a second; longer on a busy machine. */
const START_MS_MAX = 30_000;
const THREAD_MEMORY_MB_MAX = 128;

export class SchemaWorker {
  #thread: Worker | null = null;
  readonly #turn = new Places({ max: 1 });

  /** Fills the schemas of one call, one after the other. */
  forCall(signal: AbortSignal): FillSchema {
    let msLeft = FILL_MS_MAX;
    return (job) =>
      this.#turn.run(signal, async () => {
        const thread = this.#thread ?? (await startThread());
        this.#thread = thread;
        const startedAt = performance.now();
        const answer = await this.#ask(thread, job, msLeft);
        msLeft = Math.max(0, Math.floor(msLeft - (performance.now() - startedAt)));
        if ('value' in answer) return answer.value;
        const message = `local/chat cannot fill this JSON schema: ${answer.refusal}`;
        throw new LocalRefusal(400, 'invalid_request', message, null);
      });
  }

  async #ask(thread: Worker, job: FillJob, msMax: number): Promise<FillAnswer> {
    try {
      thread.postMessage(job);
      const [answer] = await once(thread, 'message', { signal: AbortSignal.timeout(msMax) });
      return answer as FillAnswer;
    } catch {
      this.#thread = null;
      void thread.terminate();
      return { refusal: 'it takes too much time or memory; simplify it' };
    }
  }
}

async function startThread(): Promise<Worker> {
  const thread = new Worker(new URL('./schema-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB_MAX },
  });
  thread.unref();
  // Reported by the job that waits; an error between two jobs must not end the process.
  thread.on('error', () => {});
  await once(thread, 'message', { signal: AbortSignal.timeout(START_MS_MAX) });
  return thread;
}

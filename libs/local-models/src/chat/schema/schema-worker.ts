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

/** Processor time for all schemas of a call: one for each tool that it calls. Usual schemas take a few milliseconds. */
const FILL_MS_MAX = 2_000;
const LOOK_EVERY_MS = 250;
/** Longest wait for a thread that gets too little of the processor. */
const WAIT_MS_MAX = 30_000;
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
        const { answer, usedMs } = msLeft > 0 ? await this.#ask(job, msLeft) : OVERRUN;
        msLeft -= usedMs;
        if ('value' in answer) return answer.value;
        const message = `local/chat cannot fill this JSON schema: ${answer.refusal}`;
        throw new LocalRefusal(400, 'invalid_request', message, null);
      });
  }

  async #ask(job: FillJob, msMax: number): Promise<{ answer: FillAnswer; usedMs: number }> {
    const thread = this.#thread ?? (await startThread());
    this.#thread = thread;
    const overrun = new AbortController();
    const signal = AbortSignal.any([overrun.signal, AbortSignal.timeout(WAIT_MS_MAX)]);
    const over = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    over.catch(() => {}); // it ends the waits below
    let looking: NodeJS.Timeout | undefined;
    try {
      const before = await Promise.race([cpuMs(thread), over]);
      const look = async () => {
        if ((await cpuMs(thread)) - before > msMax) overrun.abort();
      };
      looking = setInterval(() => void look().catch(() => {}), LOOK_EVERY_MS); // it fails when the thread has ended
      thread.postMessage(job);
      const [answer] = await once(thread, 'message', { signal });
      return { answer, usedMs: (await Promise.race([cpuMs(thread), over])) - before };
    } catch {
      this.#thread = null;
      void thread.terminate();
      return OVERRUN;
    } finally {
      clearInterval(looking);
      overrun.abort(); // nothing waits for it any more
    }
  }
}

const OVERRUN = {
  answer: { refusal: 'it takes too much time or memory; simplify it' },
  usedMs: FILL_MS_MAX,
};

/** What the thread has worked, not what it waited for on a busy machine. */
async function cpuMs(thread: Worker): Promise<number> {
  const { user, system } = await thread.cpuUsage();
  return (user + system) / 1_000;
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

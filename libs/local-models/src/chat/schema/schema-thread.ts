// The thread of schema-worker.ts: one message is one schema to fill; its own first message says that it is ready.
import { parentPort } from 'node:worker_threads';
import { fillSchema, SchemaRefused } from './fill-schema.ts';
import type { FillAnswer, FillJob } from './schema-worker.ts';

parentPort?.on('message', (job: FillJob) => parentPort?.postMessage(answer(job)));
parentPort?.postMessage('ready');

function answer({ schema, text, reply }: FillJob): FillAnswer {
  try {
    return { value: fillSchema(schema, text, reply) };
  } catch (error) {
    if (error instanceof SchemaRefused) return { refusal: error.message };
    // Invalid patterns and references, and stacks that overflow.
    return { refusal: `it is not valid: ${String(error).slice(0, 200)}` };
  }
}

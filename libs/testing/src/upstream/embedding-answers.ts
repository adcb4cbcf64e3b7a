// The recorded embedding for each input of a request, in the encoding asked for.
import type { Behaviour } from './behaviours.ts';
import { FIXTURES } from './fixtures.ts';

export interface EmbeddingsBody {
  input?: string | unknown[];
  encoding_format?: string;
  dimensions?: number;
}

export function embeddingsFor(body: EmbeddingsBody, behaviour: Behaviour): Record<string, unknown> {
  const inputs = Array.isArray(body.input) && typeof body.input[0] !== 'number' ? body.input : [body.input];
  const data = inputs.map((_, index) => {
    const vector = vectorFor(index, body.dimensions);
    return {
      object: 'embedding',
      index,
      embedding: body.encoding_format === 'base64' ? toBase64(vector) : vector,
    };
  });
  const { object, model, usage } = FIXTURES.embeddings;
  return { object, data, model, ...(behaviour.noUsage ? {} : { usage }) };
}

/** The recorded numbers rotated by the input's index and repeated to the requested dimensions. */
function vectorFor(index: number, dimensions: number | undefined): number[] {
  const recorded = FIXTURES.embeddings.data[0]?.embedding ?? [];
  const length = dimensions ?? recorded.length;
  return Array.from({ length }, (_, at) => recorded[(at + index) % recorded.length] ?? 0);
}

function toBase64(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString('base64');
}

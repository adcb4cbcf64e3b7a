// Embeddings: converts OpenAI's request and answer for an AI SDK embedding model.
import { EXPERIMENTAL_EMBEDDING_MODEL_MAX_INPUT_BYTES_PER_CALL } from '@ai-sdk/provider-utils';
import type { embeddingsRequest } from '@switchyard/contracts';
import { z } from 'zod';
import { UnusableAnswer } from '../unusable-answer.ts';
import { callEach, inParts, sumOfAll } from './calls-in-parts.ts';
import type { ModelOfType } from './declaration.ts';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { jsonAnswer, type Translation, UnsupportedField } from './translation.ts';

const FIELDS: FieldsOfType = { read: ['input', 'dimensions', 'encoding_format'], known: [] };

type Fields = z.infer<typeof embeddingsRequest>;

export const answerEmbeddings: Translation<'embedding'> = async (model, request) => {
  const { input, dimensions, encoding_format: encoding } = fieldsFor<Fields>(request, FIELDS);
  const values = textsOf(input);
  const perCall = request.rules.perCall ?? (await model.maxEmbeddingsPerCall) ?? values.length;
  const parts = inParts(values, Math.max(1, Math.min(perCall, values.length))).flatMap((part) =>
    withinBytes(part, bytesPerCall(model)),
  );
  const results = await callEach(parts, request.signal, async (part, _index, abortSignal) => {
    const result = await model.doEmbed({
      ...{ values: part, abortSignal },
      ...(dimensions === undefined ? {} : { dimensions }),
    });
    const { length } = result.embeddings;
    if (length !== part.length)
      throw new UnusableAnswer(`the answer has ${length} vectors for ${part.length}`);
    return result;
  });
  const vectors = results.flatMap(({ embeddings }) => embeddings);
  const tokens = sumOfAll(results.map(tokensOf));
  return jsonAnswer({
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: encoding === 'base64' ? base64(vector) : vector,
    })),
    model: request.sent.upstream.model,
    ...(tokens === undefined ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  });
};

function textsOf(input: string | unknown[]): string[] {
  if (typeof input === 'string') return [input];
  if (input.every((one) => typeof one === 'string')) return input;
  throw new UnsupportedField('input', 'This model accepts text only, not token numbers.');
}

/** Maximum bytes of text per call, if the provider package knows the maker's limit. */
function bytesPerCall(model: ModelOfType['embedding']): number {
  const max: unknown = Reflect.get(model, EXPERIMENTAL_EMBEDDING_MODEL_MAX_INPUT_BYTES_PER_CALL);
  return typeof max === 'number' ? max : Number.POSITIVE_INFINITY;
}

/** Splits the texts by size; a text above the limit is a part by itself. */
function withinBytes(texts: readonly string[], bytesMax: number): string[][] {
  const parts: string[][] = [];
  let bytes = 0;
  for (const text of texts) {
    const size = Buffer.byteLength(text);
    const last = parts.at(-1);
    if (last === undefined || bytes + size > bytesMax) {
      parts.push([text]);
      bytes = size;
    } else {
      last.push(text);
      bytes += size;
    }
  }
  return parts;
}

type Result = Awaited<ReturnType<ModelOfType['embedding']['doEmbed']>>;

/** Google's token count, which the AI SDK does not read. */
const googlesCount = z.object({ usageMetadata: z.object({ promptTokenCount: z.int().nonnegative() }) });

function tokensOf({ usage, response }: Result): number | undefined {
  return usage?.tokens ?? googlesCount.safeParse(response?.body).data?.usageMetadata.promptTokenCount;
}

/** OpenAI's base64 format: 32-bit floats, little-endian. */
function base64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * FLOAT_BYTES);
  return bytes.toString('base64');
}

const FLOAT_BYTES = 4;

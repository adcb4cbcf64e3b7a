// local/embed: OpenAI's embeddings request -> hashed n-gram vectors in OpenAI's shape.
import { setImmediate } from 'node:timers/promises';
import { embeddingsRequest } from '@switchyard/contracts';
import { z } from 'zod';
import { jsonAnswer, type LocalAnswer } from '../local-answer.ts';
import { LocalRefusal } from '../local-refusal.ts';
import { type LocalRequest, parseRequest } from '../local-request.ts';
import { countTokens } from '../text/tokens.ts';
import { embedFeatures } from './embed-features.ts';
import { textFeatures, tokenIdFeatures } from './text-features.ts';

export const EMBED_MODEL_ID = 'local/embed';
export const EMBEDDING_DIMENSIONS_DEFAULT = 256;
export const EMBEDDING_DIMENSIONS_MIN = 16;
export const EMBEDDING_DIMENSIONS_MAX = 2_048;
/** Tokens of one text: what is computed without a pause stays under some tens of milliseconds. */
export const EMBEDDING_INPUT_TOKENS_MAX = 8_192;

const localEmbeddingsRequest = embeddingsRequest.safeExtend({
  dimensions: z.int().min(EMBEDDING_DIMENSIONS_MIN).max(EMBEDDING_DIMENSIONS_MAX).nullish(),
});

/** One text, or a list of token ids that stands for one. */
type EmbeddingInput = string | number[];

export async function answerEmbeddings({ body, signal }: LocalRequest): Promise<LocalAnswer> {
  const request = parseRequest(localEmbeddingsRequest, body);
  const dimensions = request.dimensions ?? EMBEDDING_DIMENSIONS_DEFAULT;
  const write = request.encoding_format === 'base64' ? toBase64 : toNumbers;
  const data: unknown[] = [];
  let promptTokens = 0;
  for (const [index, input] of inputsOf(request.input).entries()) {
    promptTokens += checkedTokens(input, index);
    const features = typeof input === 'string' ? textFeatures(input) : tokenIdFeatures(input);
    data.push({ object: 'embedding', index, embedding: write(embedFeatures(features, dimensions)) });
    // Up to 2,048 texts in a call: other calls of this process get their turn between two of them.
    await setImmediate();
    signal.throwIfAborted();
  }
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  return jsonAnswer({ object: 'list', data, model: EMBED_MODEL_ID, usage });
}

function inputsOf(input: string | string[] | number[] | number[][]): EmbeddingInput[] {
  if (typeof input === 'string') return [input];
  return isTokenIds(input) ? [input] : input;
}

function isTokenIds(input: string[] | number[] | number[][]): input is number[] {
  return typeof input[0] === 'number';
}

function checkedTokens(input: EmbeddingInput, index: number): number {
  const count = typeof input === 'string' ? countTokens(input) : input.length;
  if (count > EMBEDDING_INPUT_TOKENS_MAX)
    throw new LocalRefusal(
      400,
      'context_length_exceeded',
      `input ${index} has ${count} tokens; ${EMBED_MODEL_ID} takes at most ${EMBEDDING_INPUT_TOKENS_MAX} a text`,
      'input',
    );
  return count;
}

/** Nine digits tell one 32-bit float from any other: the same vector as in base64, without the noise of a double. */
function toNumbers(vector: Float32Array): number[] {
  return Array.from(vector, (value) => Number(value.toPrecision(9)));
}

/** Little-endian 32-bit floats, as OpenAI's clients read them. */
function toBase64(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [index, value] of vector.entries())
    bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}

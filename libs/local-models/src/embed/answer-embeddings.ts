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

const EMBED_MODEL_ID = 'local/embed';
const EMBEDDING_DIMENSIONS_DEFAULT = 256;
const EMBEDDING_DIMENSIONS_MIN = 16;
const EMBEDDING_DIMENSIONS_MAX = 2_048;
/** Maximum tokens per text, which limits the time without a pause to some tens of milliseconds. */
const EMBEDDING_INPUT_TOKENS_MAX = 8_192;

const localEmbeddingsRequest = embeddingsRequest.safeExtend({
  dimensions: z.int().min(EMBEDDING_DIMENSIONS_MIN).max(EMBEDDING_DIMENSIONS_MAX).nullish(),
});

/** A text, or the token ids of one text. */
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
    // A call may have 2,048 texts, so other calls get the event loop between two of them.
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

/** Nine digits identify any 32-bit float: the same vector as in base64. */
function toNumbers(vector: Float32Array): number[] {
  return Array.from(vector, (value) => Number(value.toPrecision(9)));
}

/** 32-bit floats, little-endian, as OpenAI's clients expect. */
function toBase64(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [index, value] of vector.entries())
    bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString('base64');
}

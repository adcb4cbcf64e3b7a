// What a call may cost, before it is made: exact where the price is known beforehand, else what such a call is likely to
// cost at the most. It is only asked for calls that something limits.
import { type CatalogModel, imagesRequest, speechRequest, spokenCharacters } from '@switchyard/contracts';
import { estimateInputTokens, FILE_TOKENS } from '../calls/input-tokens.ts';
import {
  estimateTokens,
  priceCharacters,
  priceImages,
  priceSearches,
  priceTokens,
} from '../calls/pricing.ts';

export interface Expected {
  /** Nano-dollars. */
  cost: bigint;
  /** It is the price. */
  exact: boolean;
  /** Of a language model: the tokens of the answer that fit in an amount, at least one. */
  outputTokensWithin?(amount: bigint): number;
}

/** Tokens of an answer whose length nobody limits; a stream holds as many more when it comes to their end. */
export const OUTPUT_TOKENS_EXPECTED = 1_000;
/** Tokens of the answer to one question of a decision model. */
const ANSWER_TOKENS = 50;
/** Tokens of a drawn image, where images are charged by them (OpenAI's largest, about). */
const IMAGE_OUTPUT_TOKENS = 6_500;

export function expectedCost(model: CatalogModel, body: Buffer): Expected {
  const request = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  switch (model.type) {
    case 'language':
      return expectedOfChat(model, request);
    case 'embedding':
      return estimated(model, estimateTokens(body.length), 0);
    case 'decision':
      return estimated(model, estimateTokens(body.length), questionsOf(request) * ANSWER_TOKENS);
    case 'image': {
      const { n, prompt } = imagesRequest.parse(request);
      const images = n ?? 1;
      const tokens = {
        inputTokens: estimateTokens(prompt.length),
        outputTokens: images * IMAGE_OUTPUT_TOKENS,
      };
      return {
        cost: priceImages(model, { images, ...tokens }).costNano,
        exact: model.pricing.image !== undefined,
      };
    }
    case 'speech':
      return {
        cost: priceCharacters(model, spokenCharacters(speechRequest.parse(request).input)).costNano,
        exact: true,
      };
    case 'rerank': {
      const inputTokens = estimateTokens(body.length);
      const { costNano } = priceSearches(model, { searches: 1, inputTokens });
      return { cost: costNano, exact: model.pricing.search !== undefined };
    }
    default:
      throw new Error(`a call of a ${model.type} model has no JSON to expect a cost by`);
  }
}

function expectedOfChat(model: CatalogModel, request: Record<string, unknown>): Expected {
  const inputTokens = inputTokensOf(request);
  const answers = count(request.n) ?? 1;
  const most = count(request.max_completion_tokens) ?? count(request.max_tokens);
  const input = priceOf(model, inputTokens, 0);
  return {
    cost: priceOf(
      model,
      inputTokens,
      answers * Math.min(most ?? OUTPUT_TOKENS_EXPECTED, OUTPUT_TOKENS_EXPECTED),
    ),
    exact: false,
    outputTokensWithin(amount) {
      // A thousand tokens at once: a single one may cost less than a nano-dollar.
      const perThousand = priceOf(model, 0, 1_000) * BigInt(answers);
      if (perThousand === 0n) return most ?? Number.MAX_SAFE_INTEGER;
      const left = amount > input ? amount - input : 0n;
      const fitting = Math.max(1, Number((left * 1_000n) / perThousand));
      return most === null ? fitting : Math.min(most, fitting);
    },
  };
}

/** Images count as images by URL too, and no file by the length of its base64. */
function inputTokensOf({ messages, tools }: Record<string, unknown>): number {
  let images = 0;
  const text = JSON.stringify({ messages, tools }, (_name, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith('data:')) return value;
    images += 1;
    return '';
  });
  return estimateInputTokens(Buffer.from(text)) + images * FILE_TOKENS;
}

function estimated(model: CatalogModel, inputTokens: number, outputTokens: number): Expected {
  return { cost: priceOf(model, inputTokens, outputTokens), exact: false };
}

function priceOf(model: CatalogModel, inputTokens: number, outputTokens: number): bigint {
  return priceTokens(model, { inputTokens, cachedInputTokens: 0, outputTokens }).costNano;
}

function questionsOf({ questions }: Record<string, unknown>): number {
  return typeof questions === 'object' && questions !== null ? Object.keys(questions).length : 0;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

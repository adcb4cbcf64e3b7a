// Maximum cost of a call before it is made; exact when the price is known in advance. Used only for calls that a limit
// applies to.
import type { CatalogModel } from '@switchyard/contracts';
import { z } from 'zod';
import { priceTokens, TOKENS_MAX } from './pricing.ts';
import { imagesAskedFor, inputTokensOf, priceRequest, type RequestJson } from './request-price.ts';

export interface Expected {
  /** Nano-dollars. */
  cost: bigint;
  /** `cost` is the price itself. */
  exact: boolean;
  /** For a language model: the output tokens that an amount covers, at least one. */
  outputTokensWithin?(amount: bigint): number;
}

/** Output tokens that a stream holds at a time; it holds as many again when they are used up. */
export const STREAMED_TOKENS_HELD = 1_000;
/** Tokens of the answer to one question of a decision model. */
const ANSWER_TOKENS = 50;
/** Tokens of an image when images are charged by tokens (approximately OpenAI's largest). */
const IMAGE_OUTPUT_TOKENS = 6_500;

/**
 * @param stream a streamed answer increases its hold while it runs; any other answer is held in full
 * @param marked the request with its marks for the maker's cache, if `request` has lost them
 */
export function expectedCost(
  model: CatalogModel,
  request: RequestJson,
  stream: boolean,
  marked: RequestJson = request,
): Expected {
  const priceOf = (outputTokens: number) => priceRequest(model, request, outputTokens).costNano;
  switch (model.type) {
    case 'language':
      return expectedOfChat(model, request, stream, cacheWrites(model, marked));
    case 'decision':
      return { cost: priceOf(questionsOf(request) * ANSWER_TOKENS), exact: false };
    case 'image': {
      const tokens = imagesAskedFor(request) * IMAGE_OUTPUT_TOKENS;
      return { cost: priceOf(tokens), exact: model.pricing.image !== undefined };
    }
    default:
      return { cost: priceOf(0), exact: model.type === 'speech' };
  }
}

function expectedOfChat(
  model: CatalogModel,
  request: RequestJson,
  stream: boolean,
  written: CacheWrites,
): Expected {
  const answers = count(request.n) ?? 1;
  const asked = mostTokensAskedFor(request);
  const most = asked ?? outputTokensMax(model);
  const held = stream ? Math.min(most, STREAMED_TOKENS_HELD) : most;
  const inputTokens = inputTokensOf(model.type, request);
  const sounds = model.pricing.audio_input_token !== undefined && MAY_SOUND.test(JSON.stringify(request));
  const priceOf = (tokens: { inputTokens: number; outputTokens: number }) => {
    const writes = {
      cacheWriteInputTokens: written === 'none' ? 0 : tokens.inputTokens,
      cacheWrite1hInputTokens: written === 'hour' ? tokens.inputTokens : 0,
      audioInputTokens: sounds ? tokens.inputTokens : 0,
    };
    return priceTokens(model, { ...tokens, ...writes, cachedInputTokens: 0 }).costNano;
  };
  return {
    cost: priceOf({ inputTokens, outputTokens: Math.min(answers * held, TOKENS_MAX) }),
    exact: false,
    outputTokensWithin(amount) {
      // Priced per thousand, since a single token may cost less than a nano-dollar.
      const perThousand = priceOf({ inputTokens: 0, outputTokens: 1_000 }) * BigInt(answers);
      if (perThousand === 0n) return most;
      const input = priceOf({ inputTokens, outputTokens: 0 });
      const left = amount > input ? amount - input : 0n;
      return Math.min(most, Math.max(1, Number((left * 1_000n) / perThousand)));
    },
  };
}

/**
 * Parts that may have sound, in our words and in Google's, and data URLs of sound: the whole input is held at the
 * dearer rate of sound. Quotes within texts are escaped in JSON.
 */
const MAY_SOUND = /"type":"(input_audio|file)"|"(inline|file)_?data":|(?<!\\)"data:(audio|video)\//i;

type CacheWrites = 'none' | 'minutes' | 'hour';

/** Whether the maker may write the input into its cache, which costs more than reading it, and for how long. */
function cacheWrites({ pricing }: CatalogModel, request: RequestJson): CacheWrites {
  // Anthropic, which has a rate for an hour, writes only what is marked; OpenAI writes any input.
  if (pricing.cache_write_1h_input_token === undefined) return 'minutes';
  const json = JSON.stringify(request); // quotes within texts are escaped
  if (!json.includes('"cache_control":')) return 'none';
  return json.includes('"ttl":"1h"') ? 'hour' : 'minutes';
}

/** Limits of language models that the router enforces. */
const languageLimits = z.looseObject({ output_tokens: z.int().positive().optional().catch(undefined) });
/** Assumed maximum output of a language model without limits; the most that makers usually allow. */
const OUTPUT_TOKENS_MAX_DEFAULT = 128_000;

/** Maximum output tokens of a language model when the caller sets no limit. */
function outputTokensMax({
  limits,
  context_length: context = Number.POSITIVE_INFINITY,
}: CatalogModel): number {
  const { output_tokens: output = Number.POSITIVE_INFINITY } = languageLimits.parse(limits);
  const known = Math.min(output, context);
  return Number.isFinite(known) ? known : OUTPUT_TOKENS_MAX_DEFAULT;
}

/** Makers differ in which of the two they read; null when the caller sets no limit. */
function mostTokensAskedFor({ max_tokens, max_completion_tokens }: RequestJson): number | null {
  const asked = [count(max_tokens), count(max_completion_tokens)].filter((tokens) => tokens !== null);
  return asked.length === 0 ? null : Math.max(...asked);
}

function questionsOf({ questions }: RequestJson): number {
  return typeof questions === 'object' && questions !== null ? Object.keys(questions).length : 0;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

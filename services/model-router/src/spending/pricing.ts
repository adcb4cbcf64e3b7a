// Computes the cost of an answer from its usage.
import type { CatalogModel, EventData } from '@switchyard/contracts';
import { type ChargeLine, charge, formatDollars } from '@switchyard/money';
import { z } from 'zod';

type Quantities = EventData<'call.completed'>['quantities'];

/** Maximum tokens of one call; the cost of a higher count would overflow a ledger's integer. */
export const TOKENS_MAX = 1_000_000_000;
const tokens = z.int().nonnegative().max(TOKENS_MAX);

/** The charged members of OpenAI's usage object. Makers leave members out or set them to null. */
const usageSchema = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens.nullish(),
  total_tokens: tokens.nullish(),
  prompt_tokens_details: z
    .looseObject({
      cached_tokens: tokens.nullish(),
      cache_write_tokens: tokens.nullish(),
      /** The part of them that is kept for an hour. */
      cache_write_1h_tokens: tokens.nullish(),
    })
    .nullish(),
});

export interface TokenUsage {
  inputTokens: number;
  /** Part of the input that was read from the maker's cache. */
  cachedInputTokens: number;
  /** Part of the input that was written to the maker's cache. */
  cacheWriteInputTokens?: number;
  /** Part of the written tokens that is kept for an hour, which may have its own price. */
  cacheWrite1hInputTokens?: number;
  outputTokens: number;
}

export interface Price {
  costNano: bigint;
  /** Plain decimal dollars. */
  cost: string;
  lines: ChargeLine[];
  quantities: Quantities;
}

/** Reads the maker's own count; null when it gives none that can be charged. */
export function readUsage(usage: unknown): TokenUsage | null {
  const parsed = usageSchema.safeParse(usage);
  if (!parsed.success) return null;
  const {
    prompt_tokens: inputTokens,
    completion_tokens: output,
    prompt_tokens_details: details,
  } = parsed.data;
  // More cached tokens than tokens would make the remainder negative.
  const cachedInputTokens = Math.min(details?.cached_tokens ?? 0, inputTokens);
  const written = Math.min(details?.cache_write_tokens ?? 0, inputTokens - cachedInputTokens);
  return {
    inputTokens,
    cachedInputTokens,
    cacheWriteInputTokens: written,
    cacheWrite1hInputTokens: Math.min(details?.cache_write_1h_tokens ?? 0, written),
    outputTokens: output ?? 0,
  };
}

/** Prices tokens by the model's rates. Cache reads and cache writes use their own rate if there is one. */
export function priceTokens({ pricing }: CatalogModel, used: TokenUsage): Price {
  const { inputTokens, cachedInputTokens, outputTokens } = used;
  const { cacheWriteInputTokens: written = 0, cacheWrite1hInputTokens: written1h = 0 } = used;
  const atOwnRate: ChargeLine[] = [];
  let rest = inputTokens;
  const take = (unit: keyof CatalogModel['pricing'], quantity: number, fallback?: string) => {
    const rate = pricing[unit] ?? fallback;
    if (typeof rate !== 'string' || quantity === 0) return;
    atOwnRate.push({ unit, quantity, rate });
    rest -= quantity;
  };
  take('cached_input_token', cachedInputTokens);
  take('cache_write_input_token', written - written1h);
  take('cache_write_1h_input_token', written1h, pricing.cache_write_input_token);
  const { input_token: input, output_token: output } = pricing;
  const lines: ChargeLine[] = [];
  if (input !== undefined) lines.push({ unit: 'input_token', quantity: rest, rate: input }, ...atOwnRate);
  if (output !== undefined) lines.push({ unit: 'output_token', quantity: outputTokens, rate: output });
  return priced(lines, {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...nonZero({ cached_input_tokens: cachedInputTokens, cache_write_input_tokens: written }),
  });
}

/** A rerank is priced per search, or by its input tokens. */
export function priceSearches(model: CatalogModel, used: { searches: number; inputTokens: number }): Price {
  const { search, input_token: inputToken } = model.pricing;
  const lines: ChargeLine[] = [];
  if (search !== undefined) lines.push({ unit: 'search', quantity: used.searches, rate: search });
  else if (inputToken !== undefined)
    lines.push({ unit: 'input_token', quantity: used.inputTokens, rate: inputToken });
  return priced(lines, { searches: used.searches, ...nonZero({ input_tokens: used.inputTokens }) });
}

/** Images are priced per image, or by their tokens. */
export function priceImages(
  model: CatalogModel,
  used: { images: number; inputTokens: number; outputTokens: number },
): Price {
  const { image, input_token: input, output_token: output } = model.pricing;
  const lines: ChargeLine[] = [];
  if (image !== undefined) lines.push({ unit: 'image', quantity: used.images, rate: image });
  else {
    if (input !== undefined) lines.push({ unit: 'input_token', quantity: used.inputTokens, rate: input });
    if (output !== undefined) lines.push({ unit: 'output_token', quantity: used.outputTokens, rate: output });
  }
  const tokens = nonZero({ input_tokens: used.inputTokens, output_tokens: used.outputTokens });
  return priced(lines, { images: used.images, ...tokens });
}

/** Speech is priced per character, so its price is known before the first byte. */
export function priceCharacters(model: CatalogModel, characters: number): Price {
  const { character } = model.pricing;
  const lines = character === undefined ? [] : [{ unit: 'character', quantity: characters, rate: character }];
  return priced(lines, { characters });
}

const SECONDS_PER_MINUTE = 60;

/** Transcription is priced per minute of audio: seconds divided by 60. */
export function priceSeconds(model: CatalogModel, seconds: number): Price {
  const { minute } = model.pricing;
  const lines =
    minute === undefined
      ? []
      : [{ unit: 'minute', quantity: seconds, rate: minute, per: SECONDS_PER_MINUTE }];
  return priced(lines, { seconds });
}

function priced(lines: ChargeLine[], quantities: Quantities): Price {
  const costNano = charge(lines);
  return { costNano, cost: formatDollars(costNano), lines, quantities };
}

function nonZero(quantities: Quantities): Quantities {
  return Object.fromEntries(Object.entries(quantities).filter(([, value]) => value !== 0));
}

/** An unusable answer costs nothing. */
export const FREE: Price = { costNano: 0n, cost: '0', lines: [], quantities: {} };

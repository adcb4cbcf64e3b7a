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
      /** The input that is sound. Most models have no rate for it, so an unusable count does not void the others. */
      audio_tokens: tokens.nullish().catch(null),
      /** The part of it that is in `cached_tokens` too. */
      cached_audio_tokens: tokens.nullish().catch(null),
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
  /** Part of the input that is sound. */
  audioInputTokens?: number;
  /** Part of the sound that was read from the maker's cache. */
  cachedAudioInputTokens?: number;
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
  // Counts above the input's would make the remainder negative.
  const cachedInputTokens = Math.min(details?.cached_tokens ?? 0, inputTokens);
  const written = Math.min(details?.cache_write_tokens ?? 0, inputTokens - cachedInputTokens);
  const audio = Math.min(details?.audio_tokens ?? 0, inputTokens);
  return {
    inputTokens,
    cachedInputTokens,
    cacheWriteInputTokens: written,
    cacheWrite1hInputTokens: Math.min(details?.cache_write_1h_tokens ?? 0, written),
    audioInputTokens: audio,
    // OpenAI counts sound and cached input, but not what is both: as much as possible is both.
    cachedAudioInputTokens: Math.min(details?.cached_audio_tokens ?? audio, audio, cachedInputTokens),
    outputTokens: output ?? 0,
  };
}

/** Prices tokens by the model's rates. Cache reads, cache writes and sound use their own rate if there is one. */
export function priceTokens({ pricing }: CatalogModel, used: TokenUsage): Price {
  const { inputTokens, cachedInputTokens, outputTokens } = used;
  const { cacheWriteInputTokens: written = 0, cacheWrite1hInputTokens: written1h = 0 } = used;
  const { audioInputTokens: audio = 0, cachedAudioInputTokens = 0 } = used;
  const atOwnRate: ChargeLine[] = [];
  let rest = inputTokens;
  const take = (unit: keyof CatalogModel['pricing'], quantity: number, fallback?: string): number => {
    const rate = pricing[unit] ?? fallback;
    if (typeof rate !== 'string' || quantity === 0) return 0;
    atOwnRate.push({ unit, quantity, rate });
    rest -= quantity;
    return quantity;
  };
  const likeCachedText = pricing.audio_input_token && pricing.cached_input_token;
  const cachedAudio = take('cached_audio_input_token', cachedAudioInputTokens, likeCachedText);
  take('cached_input_token', cachedInputTokens - cachedAudio);
  take('cache_write_input_token', written - written1h);
  take('cache_write_1h_input_token', written1h, pricing.cache_write_input_token);
  take('audio_input_token', Math.min(audio - cachedAudio, rest));
  const { input_token: input, output_token: output } = pricing;
  const lines: ChargeLine[] = [];
  if (input !== undefined) lines.push({ unit: 'input_token', quantity: rest, rate: input }, ...atOwnRate);
  if (output !== undefined) lines.push({ unit: 'output_token', quantity: outputTokens, rate: output });
  return priced(lines, {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...nonZero({
      cached_input_tokens: cachedInputTokens,
      cache_write_input_tokens: written,
      audio_input_tokens: audio,
    }),
  });
}

const SECONDS_PER_MINUTE = 60;

interface UnitsUsed {
  searches?: number;
  images?: number;
  characters?: number;
  seconds?: number;
  inputTokens?: number;
  outputTokens?: number;
}

/** Prices searches, images, characters or seconds of audio by the model's rate for them; without one, by the tokens. */
export function priceUnits({ pricing }: CatalogModel, used: UnitsUsed): Price {
  const { inputTokens, outputTokens, ...units } = used;
  const lines: ChargeLine[] = [];
  const add = (unit: keyof CatalogModel['pricing'], quantity: number | undefined, per?: number) => {
    const rate = pricing[unit];
    if (typeof rate === 'string' && quantity !== undefined)
      lines.push({ unit, quantity, rate, ...(per && { per }) });
  };
  add('search', units.searches);
  add('image', units.images);
  add('character', units.characters);
  add('minute', units.seconds, SECONDS_PER_MINUTE);
  if (lines.length === 0) {
    add('input_token', inputTokens);
    add('output_token', outputTokens);
  }
  const tokens = nonZero({ input_tokens: inputTokens ?? 0, output_tokens: outputTokens ?? 0 });
  return priced(lines, { ...units, ...tokens });
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

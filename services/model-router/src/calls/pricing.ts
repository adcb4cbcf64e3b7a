// From what an answer used to what it costs.
import type { CatalogModel, EventData } from '@switchyard/contracts';
import { type ChargeLine, charge, formatDollars } from '@switchyard/money';
import { z } from 'zod';

type Quantities = EventData<'call.completed'>['quantities'];

/** OpenAI's usage object, as far as it is charged. Makers leave things out, or set them to null. */
const usageSchema = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative().nullish(),
  total_tokens: z.int().nonnegative().nullish(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.int().nonnegative().nullish() }).nullish(),
});

export interface TokenUsage {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

export interface Price {
  costNano: bigint;
  /** Plain decimal dollars. */
  cost: string;
  lines: ChargeLine[];
  quantities: Quantities;
}

/** Reads the maker's own count; null when it gives none that can be charged by. */
export function readUsage(usage: unknown): TokenUsage | null {
  const parsed = usageSchema.safeParse(usage);
  if (!parsed.success) return null;
  const {
    prompt_tokens: inputTokens,
    completion_tokens: output,
    prompt_tokens_details: details,
  } = parsed.data;
  return {
    inputTokens,
    // A maker that reports more cached tokens than tokens would make the rest negative.
    cachedInputTokens: Math.min(details?.cached_tokens ?? 0, inputTokens),
    outputTokens: output ?? 0,
  };
}

/** Prices tokens by the model's rates: cached input at its own rate where the model has one. */
export function priceTokens(
  model: CatalogModel,
  { inputTokens, cachedInputTokens, outputTokens }: TokenUsage,
): Price {
  const { input_token: input, cached_input_token: cached, output_token: output } = model.pricing;
  const atCachedRate = cached === undefined ? 0 : cachedInputTokens;
  const lines: ChargeLine[] = [];
  if (input !== undefined)
    lines.push({ unit: 'input_token', quantity: inputTokens - atCachedRate, rate: input });
  if (cached !== undefined && atCachedRate > 0)
    lines.push({ unit: 'cached_input_token', quantity: atCachedRate, rate: cached });
  if (output !== undefined) lines.push({ unit: 'output_token', quantity: outputTokens, rate: output });
  const costNano = charge(lines);
  return {
    costNano,
    cost: formatDollars(costNano),
    lines,
    quantities: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      ...(cachedInputTokens > 0 ? { cached_input_tokens: cachedInputTokens } : {}),
    },
  };
}

/** Nothing usable, nothing charged. */
export const FREE: Price = { costNano: 0n, cost: '0', lines: [], quantities: {} };

/** Bytes of text to a token, where a maker counts nothing: OpenAI's rule of thumb for English. */
const BYTES_PER_TOKEN = 4;

/** An estimate of the tokens in a request's body. */
export function estimateInputTokens(bodyBytes: number): number {
  return Math.ceil(bodyBytes / BYTES_PER_TOKEN);
}

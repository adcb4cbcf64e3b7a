// The usage object for the caller: the maker's members unchanged, and `cost`.
import { isJsonObject } from '../json/is-json-object.ts';
import type { Price } from '../spending/pricing.ts';

/** JSON of the maker's usage with our cost; without a maker's usage, of our own count. */
export function usageWithCost(given: unknown, price: Price): string {
  const { input_tokens: input = 0, output_tokens: output = 0 } = price.quantities;
  const base = isJsonObject(given)
    ? given
    : { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return withCost(base, price);
}

/** JSON of a usage object with our `cost` as its last member. */
export function withCost({ cost: _theirs, ...members }: Record<string, unknown>, price: Price): string {
  // Splices the cost in as text, since JSON.stringify may write a number with an exponent.
  const text = JSON.stringify(members);
  return text === '{}' ? `{"cost":${price.cost}}` : `${text.slice(0, -1)},"cost":${price.cost}}`;
}

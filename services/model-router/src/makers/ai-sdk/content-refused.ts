// A maker that will not make what was asked for: an answer, not a fault, and never laundered through a fallback. With an
// HTTP status it is read in errors.ts; makers of images also tell it of a job that was taken and then failed.
import { InvalidResponseDataError } from '@ai-sdk/provider';

/** The maker refuses the content. */
export class ContentRefused extends Error {}

/** Makers' own words of a job or an answer that was held back; each has its test. */
const REFUSAL =
  /content.?policy|nsfw|moderat|sensitive content|safety filter|prohibited.?content|image_safety/i;
const MESSAGE_LENGTH_MAX = 500;

/** A refusal of the content that is behind an error or an answer without images; null where none is. */
export function refusalIn(thrown: unknown): ContentRefused | null {
  if (thrown instanceof ContentRefused) return thrown;
  const said = wordsOf(thrown);
  if (!REFUSAL.test(said)) return null;
  return new ContentRefused(`the maker refused the content: ${said.slice(0, MESSAGE_LENGTH_MAX)}`);
}

function wordsOf(thrown: unknown): string {
  if (InvalidResponseDataError.isInstance(thrown)) return `${thrown.message} ${JSON.stringify(thrown.data)}`;
  if (thrown instanceof Error) return thrown.constructor === Error ? thrown.message : '';
  const { isRetryable, providerMetadata } = thrown as { isRetryable?: boolean; providerMetadata?: unknown };
  return isRetryable === false ? `held back by moderation ${JSON.stringify(providerMetadata)}` : '';
}

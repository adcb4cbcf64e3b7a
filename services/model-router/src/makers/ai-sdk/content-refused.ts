// A maker that will not make what was asked for: an answer, not a fault, and never laundered through a fallback. With an
// HTTP status it is read in errors.ts; makers of images also tell it of a job that was taken and then failed.
import { InvalidResponseDataError } from '@ai-sdk/provider';
import { z } from 'zod';

/** The maker refuses the content. */
export class ContentRefused extends Error {}

/** Makers' own words of a job or an answer that was held back; each has its test. */
const REFUSAL = /content.?policy|nsfw|moderat|sensitive content|safety filter/i;
const MESSAGE_LENGTH_MAX = 500;

/** A refusal of the content that is behind an error or an answer without images; null where none is. */
export function refusalIn(thrown: unknown): ContentRefused | null {
  if (thrown instanceof ContentRefused) return thrown;
  const reason = thrown instanceof Error ? reasonOfError(thrown) : reasonOfAnswer(thrown);
  if (reason === null) return null;
  return new ContentRefused(`the maker refused the content: ${reason.slice(0, MESSAGE_LENGTH_MAX)}`);
}

/** What a failed job says of itself: Luma, Replicate; other errors with words of their own: xAI. */
const failedJob = z.object({ failure_reason: z.string().nullish(), error: z.string().nullish() });

function reasonOfError(error: Error): string | null {
  const isData = InvalidResponseDataError.isInstance(error);
  if (!isData && error.constructor !== Error) return null;
  const { failure_reason: reason, error: said } = (isData && failedJob.safeParse(error.data).data) || {};
  const words = reason ?? said ?? error.message;
  return REFUSAL.test(words) ? words : null;
}

/** A package that knows why there is no image says that asking again is of no use, and the maker's own word for it. */
const heldBack = z.object({
  isRetryable: z.literal(false),
  providerMetadata: z.record(z.string(), z.looseObject({ finishReason: z.string().nullish() })).optional(),
});

function reasonOfAnswer(answer: unknown): string | null {
  const { success, data } = heldBack.safeParse(answer);
  if (!success) return null;
  const reasons = Object.values(data.providerMetadata ?? {}).map(({ finishReason }) => finishReason);
  return reasons.find((reason) => reason) ?? 'moderation';
}

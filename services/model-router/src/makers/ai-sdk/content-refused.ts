// Detects that a maker refuses the content, which is no fault and never causes a fallback. errors.ts reads
// refusals with an HTTP status; image makers also report refusals of accepted jobs.
import { InvalidResponseDataError } from '@ai-sdk/provider';
import { z } from 'zod';

/** The maker refuses the content. */
export class ContentRefused extends Error {}

/** Makers' own messages for a blocked job or answer; each has its test. */
const REFUSAL = /content.?policy|nsfw|moderat|sensitive content|safety filter/i;
const MESSAGE_LENGTH_MAX = 500;

/** The refusal behind an error or an answer without images; null when there is none. */
export function refusalIn(thrown: unknown): ContentRefused | null {
  if (thrown instanceof ContentRefused) return thrown;
  const reason = thrown instanceof Error ? reasonOfError(thrown) : reasonOfAnswer(thrown);
  if (reason === null) return null;
  return new ContentRefused(`the maker refused the content: ${reason.slice(0, MESSAGE_LENGTH_MAX)}`);
}

/** The error of a failed job (Replicate). */
const failedJob = z.object({ error: z.string().nullish() });

function reasonOfError(error: Error): string | null {
  const isData = InvalidResponseDataError.isInstance(error);
  if (!isData && error.constructor !== Error) return null;
  const failed = isData ? failedJob.safeParse(error.data).data : undefined;
  const words = failed?.error ?? error.message; // xAI says it in the message
  return REFUSAL.test(words) ? words : null;
}

/** A package that knows why there is no image marks the error as not retryable and quotes the maker. */
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

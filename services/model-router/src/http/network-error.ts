// The innermost cause of a network error, whose code says what happened.

const CAUSES_MAX = 8;

/** The first error with a code among the error and its causes; null when none has one. */
export function networkErrorIn(error: unknown): (Error & { code: string }) | null {
  let cause: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    if (typeof (cause as Error & { code?: unknown }).code === 'string')
      return cause as Error & { code: string };
    cause = cause.cause;
  }
  return null;
}

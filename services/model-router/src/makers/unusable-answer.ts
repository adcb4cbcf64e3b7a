/** The upstream answered 200 with an unusable body: a failed attempt. */
export class UnusableAnswer extends Error {}

/** The upstream answered 200 and reported a failure or refusal in the body; `error` says which. */
export class ReportedError extends UnusableAnswer {
  /** The unchanged `error` member: an object in OpenAI's shape, or a text. */
  readonly error: unknown;

  constructor(error: unknown) {
    super('the answer reported an error');
    this.error = error;
  }
}

/** @throws UnusableAnswer when a whole answer is empty, or `read` fails on it */
export function readWhole<T>(body: Buffer, read: (body: Buffer) => T): T {
  if (body.length === 0) throw new UnusableAnswer('the answer is empty');
  try {
    return read(body);
  } catch (cause) {
    throw new UnusableAnswer('the answer is not a JSON object', { cause });
  }
}

/** Codes of a failed response of OpenAI that are its fault; all others are about the request (`invalid_prompt`). */
const FAULT_CODES: ReadonlySet<unknown> = new Set([
  ...['server_error', 'rate_limit_exceeded', 'insufficient_quota', 'vector_store_timeout'],
  'data_residency_mismatch',
]);

/** @param error of a failed response of OpenAI, or of an event: it has no status, and often no type */
export function reportedError(error: unknown): ReportedError {
  if (typeof error !== 'object' || error === null) return new ReportedError(error);
  const { code, type: given, ...rest } = error as { code?: unknown; type?: unknown };
  const isOfRequest = typeof code === 'string' && !(FAULT_CODES.has(code) || /^\d+$/.test(code));
  const type = given && given !== 'error' ? given : isOfRequest ? 'invalid_request_error' : null;
  return new ReportedError({ ...rest, code, type });
}

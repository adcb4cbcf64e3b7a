// Errors of the API as exceptions.

/** The member `error` of an error body. */
interface ErrorDetails {
  code?: string;
  message?: string;
  param?: string | null;
  details?: Record<string, unknown>;
  request_id?: string;
}

/** The response that has the error; absent when a stream failed after its beginning. */
interface ErrorOrigin {
  status: number | null;
  requestId: string | null;
}

/** An error that the API answered. `code` is for programs (docs/errors.md), `message` for people. */
export class SwitchyardError extends Error {
  override readonly name = 'SwitchyardError';
  readonly code: string;
  /** HTTP status; null when a stream failed after its beginning. */
  readonly status: number | null;
  /** Names the request in Logs. */
  readonly requestId: string | null;
  /** The field at fault, if one is. */
  readonly param: string | null;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(error: ErrorDetails, { status, requestId }: ErrorOrigin = { status: null, requestId: null }) {
    super(error.message ?? `The API answered ${status} without a reason.`);
    this.code = error.code ?? 'unknown';
    this.status = status;
    this.requestId = requestId ?? error.request_id ?? null;
    this.param = error.param ?? null;
    this.details = error.details ?? {};
  }
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/**
 * Returns the data of a call of `sy.api`.
 * @throws SwitchyardError when the API answered with an error
 */
export async function dataOf<T>(call: Promise<Answer<T>>): Promise<T> {
  return (await answerOf(call)).data;
}

/** Like `dataOf`, with the response's headers. */
export async function answerOf<T>(call: Promise<Answer<T>>): Promise<{ data: T; response: Response }> {
  const { data, error, response } = await call;
  if (response.ok) return { data: data as T, response };
  const body = error as { error?: ErrorDetails } | undefined;
  const requestId = response.headers.get('x-request-id');
  throw new SwitchyardError(body?.error ?? {}, { status: response.status, requestId });
}

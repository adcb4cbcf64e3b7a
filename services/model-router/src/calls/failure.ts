// Why an attempt failed, and whether another upstream may do better. A refusal of the request itself is an answer, not
// a fault: it is never laundered through a fallback.
import { ServiceError } from '@switchyard/contracts';

export interface Failure {
  /** The upstream's status; null when it gave none. */
  status: number | null;
  message: string;
  kind: 'rejected' | 'rate_limited' | 'timeout' | 'fault';
  retryAfterS: number | null;
}

/** Thrown by an attempt. */
export class AttemptFailed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.failure = failure;
  }
}

const MESSAGE_LENGTH_MAX = 1_000;

/** Statuses of an upstream that say "not me, not now" and not "not this": 401 and 403 refuse our key, not the caller's. */
const FAULT_STATUSES = new Set([401, 402, 403, 404, 405, 408]);

/** Statuses that are about our account with the maker, and what the caller is told of them. */
const OUR_CREDENTIALS: Partial<Record<number, string>> = {
  401: 'the upstream refused our credentials (401)',
  402: 'the upstream wants our account to be paid (402)',
  403: 'the upstream refused our credentials (403)',
};

/** vLLM, llama.cpp and others say only in words that another model's longer context may take the request. */
const CONTEXT_LENGTH = /(maximum )?context (length|window|size)/i;

/** What an upstream's error answer means. */
export function failureOfAnswer(status: number, body: Buffer, retryAfterS: number | null): Failure {
  const { message, code } = readErrorBody(body);
  // What a maker says of our credentials is ours to read, in its own console: it may quote them.
  const said = OUR_CREDENTIALS[status] ?? message ?? `the upstream answered ${status}`;
  if (status === 429) return { status, message: said, kind: 'rate_limited', retryAfterS };
  const tooLong = code === 'context_length_exceeded' || (status === 400 && CONTEXT_LENGTH.test(said));
  const fault = status >= 500 || FAULT_STATUSES.has(status) || tooLong || status < 400;
  return { status, message: said, kind: fault ? 'fault' : 'rejected', retryAfterS };
}

export function faultOf(error: unknown): Failure {
  if (error instanceof AttemptFailed) return error.failure;
  const message = error instanceof Error ? describe(error) : String(error);
  return { status: null, message, kind: 'fault', retryAfterS: null };
}

export function timedOut(what: string): AttemptFailed {
  return new AttemptFailed({ status: null, message: what, kind: 'timeout', retryAfterS: null });
}

/** The error that the caller gets when the last attempt has failed. */
export function toServiceError(failures: Failure[], details: Record<string, unknown>): ServiceError {
  const last = failures.at(-1);
  if (last?.kind === 'rejected') return new ServiceError('upstream_rejected', last.message, { details });
  if (failures.every(({ kind }) => kind === 'rate_limited'))
    return new ServiceError('rate_limited', `every upstream of the model is busy: ${last?.message}`, {
      details,
      retryAfterS: Math.ceil(last?.retryAfterS ?? 1),
    });
  if (failures.every(({ kind }) => kind === 'timeout'))
    return new ServiceError('upstream_timeout', last?.message ?? 'no upstream answered in time', { details });
  return new ServiceError('upstream_error', `no upstream could answer: ${last?.message}`, { details });
}

function readErrorBody(body: Buffer): { message: string | null; code: string | null } {
  try {
    const json = JSON.parse(body.toString('utf8')) as {
      error?: { message?: unknown; code?: unknown } | string;
    };
    if (typeof json.error === 'string')
      return { message: json.error.slice(0, MESSAGE_LENGTH_MAX), code: null };
    const { message, code } = json.error ?? {};
    return {
      message: typeof message === 'string' ? message.slice(0, MESSAGE_LENGTH_MAX) : null,
      code: typeof code === 'string' ? code : null,
    };
  } catch {
    return { message: null, code: null };
  }
}

/** A network error's own code says more than its message, and never holds our credentials. */
function describe(error: Error & { code?: unknown; cause?: unknown }): string {
  if (typeof error.code === 'string') return `the upstream could not be reached: ${error.code}`;
  return error.message.slice(0, MESSAGE_LENGTH_MAX);
}

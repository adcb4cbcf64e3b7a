// Why an attempt failed, and whether another upstream may do better. A refusal of the request itself is an answer, not
// a fault: it is never laundered through a fallback.
import { ServiceError } from '@switchyard/contracts';
import { ReportedError, UnusableAnswer } from '../answers/unusable-answer.ts';
import { ADAPTER_LACKS_FIELD } from '../makers/maker.ts';

export interface Failure {
  /** The upstream's status; null when it gave none. */
  status: number | null;
  message: string;
  /**
   * `rejected`: of the request itself, so no other upstream is asked. `too_long`: for this model's context; another's may
   * be longer. `unsupported`: this maker has nothing like a field of it; another may. The others are about the upstream.
   */
  kind: 'rejected' | 'too_long' | 'unsupported' | 'rate_limited' | 'timeout' | 'fault';
  /** The caller's field that it is about, where it was named. */
  param?: string | null;
  /** Seconds after which the upstream wants to be asked again, as it said itself. */
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

/** Codes under which makers refuse the content of a request (OpenAI, Azure), whatever their status. */
const REFUSAL_CODES = new Set([
  'content_policy_violation',
  'content_filter',
  'moderation_blocked',
  'ResponsibleAIPolicyViolation',
]);
/** OpenRouter and xAI refuse content with 403, the status of a wrong key, and say so only in words. */
const REFUSAL_WORDS = /\b(flagged|moderation|usage (guidelines|polic)|content polic|safety)/i;

/** What an upstream's error answer means. */
export function failureOfAnswer(status: number, body: Buffer, retryAfterS: number | null): Failure {
  const reported = readErrorBody(body);
  return { status, ...judge(status, reported), retryAfterS };
}

/** What an error means that came inside a 200: it has no status of its own, but its code or type may tell one. */
export function failureOfReport(error: unknown): Failure {
  const reported = readError(error);
  const { message, kind } = judge(impliedStatus(reported), reported);
  return { status: 200, message: `the answer reported an error: ${message}`, kind, retryAfterS: null };
}

export function faultOf(error: unknown): Failure {
  if (error instanceof AttemptFailed) return error.failure;
  if (error instanceof ReportedError) return failureOfReport(error.error);
  const status = error instanceof UnusableAnswer ? 200 : null;
  const message = error instanceof Error ? describe(error) : String(error);
  return { status, message, kind: 'fault', retryAfterS: null };
}

function judge(
  status: number,
  { message, code, param }: ReportedFault,
): Pick<Failure, 'message' | 'kind' | 'param'> {
  if (isRefusal(status, message, code))
    return { message: message ?? 'the upstream refused the content', kind: 'rejected' };
  if (code === ADAPTER_LACKS_FIELD && message !== null) return { message, kind: 'unsupported', param };
  // What a maker says of our credentials is ours to read, in its own console: it may quote them.
  const said = OUR_CREDENTIALS[status] ?? message ?? `the upstream answered ${status}`;
  if (status === 429) return { message: said, kind: 'rate_limited' };
  if (code === 'context_length_exceeded' || (status === 400 && CONTEXT_LENGTH.test(said)))
    return { message: said, kind: 'too_long' };
  const fault = status >= 500 || FAULT_STATUSES.has(status) || status < 400;
  return fault ? { message: said, kind: 'fault' } : { message: said, kind: 'rejected', param };
}

function isRefusal(status: number, message: string | null, code: string | null): boolean {
  if (code !== null && REFUSAL_CODES.has(code)) return true;
  return status === 403 && message !== null && REFUSAL_WORDS.test(message);
}

/** OpenRouter puts a status where OpenAI has a code. */
function impliedStatus({ code, type }: ReportedFault): number {
  if (code !== null && /^[45]\d\d$/.test(code)) return Number(code);
  if (code === 'rate_limit_exceeded' || type === 'rate_limit_error') return 429;
  if (code === 'invalid_api_key' || type === 'authentication_error') return 401;
  return type === 'invalid_request_error' ? 400 : 500;
}

export function timedOut(what: string): AttemptFailed {
  return new AttemptFailed({ status: null, message: what, kind: 'timeout', retryAfterS: null });
}

/** The error that the caller gets when the last attempt has failed. */
export function toServiceError(failures: Failure[], details: Record<string, unknown>): ServiceError {
  const [first] = failures;
  const asked = failures.filter(({ kind }) => kind !== 'unsupported');
  if (first && asked.length === 0)
    return new ServiceError('invalid_request', first.message, { ...paramOf(first), details });
  const last = asked.at(-1);
  if (last?.kind === 'rejected')
    return new ServiceError('upstream_rejected', last.message, { ...paramOf(last), details });
  const all = (kind: Failure['kind']) => asked.every((failure) => failure.kind === kind);
  if (all('too_long'))
    return new ServiceError('upstream_rejected', last?.message ?? 'the request is too long', { details });
  if (all('rate_limited'))
    return rateLimited(
      `every upstream of the model is busy: ${last?.message}`,
      Math.min(...asked.map(({ retryAfterS }) => retryAfterS ?? RETRY_AFTER_S_DEFAULT)),
      details,
    );
  if (all('timeout'))
    return new ServiceError('upstream_timeout', last?.message ?? 'no upstream answered in time', { details });
  return new ServiceError('upstream_error', `no upstream could answer: ${last?.message}`, { details });
}

function paramOf({ param }: Failure): { param?: string } {
  return param ? { param } : {};
}

/** 429 for the caller, with when to come back. */
export function rateLimited(
  message: string,
  retryAfterS: number,
  details: Record<string, unknown>,
): ServiceError {
  return new ServiceError('rate_limited', message, {
    details,
    retryAfterS: Math.max(RETRY_AFTER_S_DEFAULT, Math.ceil(retryAfterS)),
  });
}

/** Seconds that a caller is told to stay away where the upstream names no time. */
const RETRY_AFTER_S_DEFAULT = 1;

/** OpenAI's error object, as far as it is read. */
interface ReportedFault {
  message: string | null;
  code: string | null;
  type: string | null;
  param: string | null;
}

const NOTHING_SAID: ReportedFault = { message: null, code: null, type: null, param: null };

function readErrorBody(body: Buffer): ReportedFault {
  try {
    return readError((JSON.parse(body.toString('utf8')) as { error?: unknown } | null)?.error);
  } catch {
    return NOTHING_SAID;
  }
}

function readError(error: unknown): ReportedFault {
  if (typeof error === 'string') return { ...NOTHING_SAID, message: error.slice(0, MESSAGE_LENGTH_MAX) };
  if (typeof error !== 'object' || error === null) return NOTHING_SAID;
  const { message, code, type, param } = error as Partial<Record<keyof ReportedFault, unknown>>;
  return {
    message: typeof message === 'string' ? message.slice(0, MESSAGE_LENGTH_MAX) : null,
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
    type: typeof type === 'string' ? type : null,
    param: typeof param === 'string' ? param : null,
  };
}

/** A network error's own code says more than its message, and never holds our credentials. */
function describe(error: Error & { code?: unknown; cause?: unknown }): string {
  if (typeof error.code === 'string') return `the upstream could not be reached: ${error.code}`;
  return error.message.slice(0, MESSAGE_LENGTH_MAX);
}

// Classifies why an attempt failed, and whether another upstream may succeed. A refusal of the request itself is an
// answer, not a fault, and never falls back.

import type { ServiceError } from '@switchyard/contracts';
import { meaningOf } from './error-meanings.ts';
import { wordsIn } from './error-words.ts';
import { ReportedError, UnusableAnswer } from './unusable-answer.ts';
import { messageForCallers, type ShownMessage } from './without-account.ts';

export interface Failure extends ShownMessage {
  /** The upstream's status; null when it sent none. */
  status: number | null;
  /**
   * `rejected`: the request itself is refused, so no other upstream is tried. `too_long`: exceeds this model's context;
   * another may be longer. `unsupported`: this maker lacks a field; another may have it. The others concern the
   * upstream.
   */
  kind: 'rejected' | 'too_long' | 'unsupported' | 'rate_limited' | 'timeout' | 'fault';
  /** The request field at fault, if the upstream named it. */
  param?: string | null;
  /** Seconds from the upstream's own `Retry-After`. */
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

/** Statuses that concern this upstream, not the request: 401 and 403 refuse our key, not the caller's. */
const FAULT_STATUSES = new Set([401, 402, 403, 404, 405, 408]);

/** Statuses about our account with the maker, and the message for the caller. */
const OUR_CREDENTIALS: Partial<Record<number, string>> = {
  401: 'the upstream refused our credentials (401)',
  402: 'the upstream requires payment from us (402)',
  403: 'the upstream refused our credentials (403)',
};

/** vLLM, llama.cpp and others report only in their message that the request exceeds the model's context. */
const CONTEXT_LENGTH = /(maximum )?context (length|window|size)/i;

/** Codes with which makers (OpenAI, Azure) refuse the content of a request, with any status. */
const REFUSAL_CODES = new Set([
  'content_policy_violation',
  'content_filter',
  'moderation_blocked',
  'ResponsibleAIPolicyViolation',
]);
/** OpenRouter and xAI refuse content with 403, the status of a wrong key; only the message tells them apart. */
const REFUSAL_WORDS = /\b(flagged|moderation|usage (guidelines|polic)|content polic|safety)/i;

/** Classifies an error answer of an upstream. */
export function failureOfAnswer(status: number, body: Buffer, retryAfterS: number | null): Failure {
  const text = body.toString('utf8');
  const said = readErrorBody(text);
  const meant = meaningOf(status, text);
  const message = said.message || wordsIn(text);
  return failureOf(
    meant?.status ?? status,
    { ...said, message, code: meant?.code ?? said.code },
    retryAfterS,
  );
}

/** Classifies an error of an upstream. */
export function failureOf(status: number, said: SaidFault, retryAfterS: number | null): Failure {
  return forCallers({ status, ...judge(status, said), retryAfterS });
}

/** Classifies an error inside a 200: it has no status of its own, but its code or type may imply one. */
export function failureOfReport(error: unknown): Failure {
  const reported = readError(error);
  const { message, kind } = judge(impliedStatus(reported), reported);
  return forCallers({
    status: 200,
    message: `the answer reported an error: ${message}`,
    kind,
    retryAfterS: null,
  });
}

export function faultOf(error: unknown): Failure {
  if (error instanceof AttemptFailed) return error.failure;
  if (error instanceof ReportedError) return failureOfReport(error.error);
  const status = error instanceof UnusableAnswer ? 200 : null;
  const message = error instanceof Error ? describe(error) : String(error);
  return forCallers({ status, message, kind: 'fault', retryAfterS: null });
}

/** @param redactKeys redacts our API keys, which a maker's message may quote */
export function redacted(failure: Failure, redactKeys: (words: string) => string): Failure {
  const { message, said } = failure;
  return {
    ...failure,
    message: redactKeys(message),
    ...(said === undefined ? {} : { said: redactKeys(said) }),
  };
}

/** Redacts our account, and limits the length. */
export function forCallers(failure: Failure): Failure {
  return { ...failure, ...messageForCallers(failure.message) };
}

function judge(
  status: number,
  { message, code, param = null }: SaidFault,
): Pick<Failure, 'message' | 'kind' | 'param'> {
  if (isRefusal(status, message, code))
    return { message: message ?? 'the upstream refused the content', kind: 'rejected' };
  // A maker's message about our credentials may quote them, so callers get a fixed text.
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

/** An attempt that was not made, since the upstream cannot express the request. */
export function unsupported({ message, param }: ServiceError): AttemptFailed {
  const field = param ?? null;
  return new AttemptFailed({ status: null, message, kind: 'unsupported', param: field, retryAfterS: null });
}

export function timedOut(what: string): AttemptFailed {
  return new AttemptFailed({ status: null, message: what, kind: 'timeout', retryAfterS: null });
}

/** The members of OpenAI's error object that a failure is judged by. */
interface SaidFault {
  message: string | null;
  code: string | null;
  param?: string | null;
}

interface ReportedFault extends SaidFault {
  type: string | null;
}

const NOTHING_SAID: ReportedFault = { message: null, code: null, type: null, param: null };

/** vLLM, SGLang and Mistral have the members of OpenAI's error object at the top level. */
function readErrorBody(text: string): ReportedFault {
  try {
    const json = JSON.parse(text) as { error?: unknown } | null;
    return readError(json?.error ?? json);
  } catch {
    return NOTHING_SAID;
  }
}

function readError(error: unknown): ReportedFault {
  if (typeof error === 'string') return { ...NOTHING_SAID, message: error };
  if (typeof error !== 'object' || error === null) return NOTHING_SAID;
  const { message, code, type, param } = error as Partial<Record<keyof ReportedFault, unknown>>;
  return {
    message: typeof message === 'string' ? message : null,
    code: typeof code === 'string' || typeof code === 'number' ? String(code) : null,
    type: typeof type === 'string' ? type : null,
    param: typeof param === 'string' ? param : null,
  };
}

/** The code of a network error is more precise than its message, and never holds our credentials. */
function describe(error: Error & { code?: unknown; cause?: unknown }): string {
  if (typeof error.code === 'string') return `the connection to the upstream failed: ${error.code}`;
  return error.message;
}

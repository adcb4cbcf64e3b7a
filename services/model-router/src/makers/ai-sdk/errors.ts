// Reads AI SDK errors for ../failure.ts, which classifies those of any upstream: the maker's status, `Retry-After` and
// message. Fallback depends on the status, so misleading statuses (a bad key as 400, an account without credit as 429)
// are corrected by ../error-meanings.ts.
import { STATUS_CODES } from 'node:http';
import {
  APICallError,
  EmptyResponseBodyError,
  JSONParseError,
  LoadAPIKeyError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { isProviderStreamError, type ProviderStreamError } from '@ai-sdk/provider-utils';
import { ServiceError } from '@switchyard/contracts';
import { networkErrorIn } from '../../http/network-error.ts';
import { RETRY_AFTER_S_MAX, readRetryAfter } from '../../http/retry-after.ts';
import { meaningOf } from '../error-meanings.ts';
import { wordsIn } from '../error-words.ts';
import { type Failure, failureOf, forCallers } from '../failure.ts';
import { reportedError, UnusableAnswer } from '../unusable-answer.ts';
import { ContentRefused } from './content-refused.ts';
import { UnfitRequest, UnsupportedField } from './translation.ts';

/** @throws the network's or the answer's error when the maker sent no error. */
export function failureOfMaker(error: unknown, now: () => number): Failure {
  if (error instanceof UnsupportedField) return unsupported(error.message, error.param);
  if (error instanceof UnfitRequest) return unsupported(error.message, null);
  if (UnsupportedFunctionalityError.isInstance(error)) return unsupported(error.message, null);
  if (error instanceof ContentRefused)
    return failureOf(400, { message: error.message, code: 'content_policy_violation' }, null);
  if (isProviderStreamError(error)) return failureInStream(error);
  if (!APICallError.isInstance(error)) throw asUnusable(error);
  const { statusCode: status } = error;
  if (status === undefined) throw networkErrorIn(error) ?? error;
  const answer = answerOf(error);
  if (answer?.status === 'failed') throw reportedError(answer.error ?? 'the response failed');
  if (status < 400 || answer)
    throw new UnusableAnswer(`the answer could not be read: ${error.message}`, { cause: error });
  const meant = meaningOf(status, error.message, error.responseBody ?? '');
  const said = { message: messageOf(error), code: meant?.code ?? null };
  return failureOf(meant?.status ?? status, said, retryAfterS(error, now));
}

const OF_PROVIDERS = [APICallError, UnsupportedFunctionalityError, LoadAPIKeyError];
const OURS = [UnsupportedField, ContentRefused, ServiceError];

/**
 * An error thrown before anything was sent to the maker, as the caller's own: UnfitRequest, unless it names its cause
 * already, or concerns our network, keys or memory.
 */
export function thrownBeforeRequest(error: unknown): unknown {
  if (OF_PROVIDERS.some((type) => type.isInstance(error))) return error;
  if (OURS.some((type) => error instanceof type)) return error;
  const code = networkErrorIn(error)?.code;
  return code === undefined || code.startsWith('ERR_INVALID_') ? new UnfitRequest(error) : error;
}

function unsupported(message: string, param: string | null): Failure {
  return forCallers({ status: 400, message, kind: 'unsupported', param, retryAfterS: null });
}

/**
 * The answer of 200 that a provider package could not use; null for another status. The package for OpenAI's Responses
 * has a status of its own for a failed answer, which it keeps parsed.
 */
function answerOf(error: APICallError): { status?: unknown; error?: unknown } | null {
  const body: unknown = error.responseBody;
  const kept = typeof body === 'string' && (error.statusCode ?? 0) < 400 ? parsed(body) : body;
  return typeof kept === 'object' ? kept : null;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** An error in mid-stream has a status only if its provider package assigns one. */
function failureInStream({ message, statusCode = 500, code, type }: ProviderStreamError): Failure {
  return failureOf(statusCode, { message, code: typeof code === 'string' ? code : (type ?? null) }, null);
}

/** Uses the message that the provider package found; otherwise the text in the body, or the status. */
function messageOf({ message, statusCode = 0, responseBody = '' }: APICallError): string {
  if (message !== '' && message !== STATUS_CODES[statusCode]) return message;
  const words = wordsIn(responseBody) ?? (IS_MARKUP.test(responseBody) ? '' : responseBody);
  return words || message || `the upstream answered ${statusCode}`;
}

/** An HTML page of a proxy before the maker, which is useless to callers. */
const IS_MARKUP = /^\s*</;

/** Seconds to wait, from the headers or Google's `RetryInfo`; null when missing. */
function retryAfterS(
  { responseHeaders = {}, responseBody = '' }: APICallError,
  now: () => number,
): number | null {
  const info = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(responseBody);
  return readRetryAfter(responseHeaders, now) ?? (info ? Math.min(Number(info[1]), RETRY_AFTER_S_MAX) : null);
}

function asUnusable(error: unknown): unknown {
  if (EmptyResponseBodyError.isInstance(error))
    return new UnusableAnswer('the answer is empty', { cause: error });
  const isUnread = TypeValidationError.isInstance(error);
  const reported = isUnread ? (error.value as { error?: unknown } | null)?.error : undefined;
  if (reported) return reportedError(reported); // an error in a shape that the package does not know
  // Their messages quote the answer.
  if (isUnread || JSONParseError.isInstance(error))
    return new UnusableAnswer('the answer could not be read', { cause: error });
  return networkErrorIn(error) ?? error;
}

// What the AI SDK throws, as the error answer that calls/failure.ts reads from any upstream: the maker's own status,
// `Retry-After` and message. Where a maker's status says something else than it means (a bad key as 400, a refusal of
// the content as 403), it is put right here, once, since falling back depends on it.
import { STATUS_CODES } from 'node:http';
import { APICallError, EmptyResponseBodyError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { isProviderStreamError, type ProviderStreamError } from '@ai-sdk/provider-utils';
import { UnusableAnswer } from '../../answers/unusable-answer.ts';
import type { MadeAnswer } from '../answered-exchange.ts';
import { ADAPTER_LACKS_FIELD } from '../maker.ts';
import { readRetryAfter } from '../retry-after.ts';
import { ContentRefused } from './content-refused.ts';
import { wordsIn } from './error-words.ts';
import { once, UnsupportedField } from './translation.ts';

/** What a maker's error says, in the terms that calls/failure.ts judges it by. */
export interface Said {
  status: number;
  message: string;
  code: string | null;
  /** The caller's field that it is about. */
  param: string | null;
  retryAfterS: number | null;
}

/** @throws an error of the network or of the answer, where the maker said nothing. */
export function saidBy(error: unknown, now: () => number): Said {
  if (error instanceof UnsupportedField) return unsupported(error.message, error.param);
  if (UnsupportedFunctionalityError.isInstance(error)) return unsupported(error.message, null);
  if (error instanceof ContentRefused)
    return {
      status: 400,
      message: error.message,
      code: 'content_policy_violation',
      param: null,
      retryAfterS: null,
    };
  if (isProviderStreamError(error)) return saidInStream(error);
  if (!APICallError.isInstance(error)) throw asUnusable(error);
  const { statusCode: status } = error;
  if (status === undefined) throw networkErrorOf(error);
  if (status < 400)
    throw new UnusableAnswer(`the answer could not be read: ${error.message}`, { cause: error });
  const meant = MEANINGS.find(({ said, statuses }) => statuses.includes(status) && said.test(textOf(error)));
  return {
    status: meant?.status ?? status,
    message: messageOf(error),
    code: meant?.code ?? null,
    param: null,
    retryAfterS: retryAfterS(error, now),
  };
}

/** It as the error answer of an upstream. */
export function errorAnswer({ status, message, code, param, retryAfterS }: Said): MadeAnswer {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  const body = Buffer.from(JSON.stringify({ error: { message, type, param, code } }));
  return { status, contentType: 'application/json', retryAfterS, body: once(body) };
}

function unsupported(message: string, param: string | null): Said {
  return { status: 400, message, code: ADAPTER_LACKS_FIELD, param, retryAfterS: null };
}

/** An error in the middle of a stream has a status only where its provider package knows one for it. */
function saidInStream(error: ProviderStreamError): Said {
  const { message, statusCode = 500, code, type } = error;
  return {
    status: statusCode,
    message,
    code: typeof code === 'string' ? code : (type ?? null),
    param: null,
    retryAfterS: null,
  };
}

interface Meaning {
  statuses: readonly number[];
  said: RegExp;
  status: number;
  code: string | null;
}

/** Makers' own words, from their documentation and recorded answers; each has its test. */
const MEANINGS: readonly Meaning[] = [
  // Another model's longer context may take it.
  {
    statuses: [400, 413, 422],
    // Anthropic; Google; Mistral; xAI; Cohere
    said: /prompt is too long|input token count .*exceeds|maximum context length|maximum prompt length|too many tokens|context_length_exceeded/i,
    status: 400,
    code: 'context_length_exceeded',
  },
  // Our key, our account: no word about the request. Google and xAI say 400 of a bad key, Anthropic of an empty account.
  {
    statuses: [400],
    said: /API_KEY_INVALID|API key not valid|API key expired|incorrect API key/i,
    status: 401,
    code: null,
  },
  {
    statuses: [400, 403],
    said: /credit balance is too low|credits? .*exhausted|spending limit/i,
    status: 402,
    code: null,
  },
  // A voice is the caller's to name: ElevenLabs says 404 of one that is not there, and of the request nothing else.
  { statuses: [404], said: /voice_not_found/, status: 400, code: 'voice_not_found' },
  { statuses: [400], said: /User location is not supported/i, status: 403, code: null },
  // xAI says 403 of a request that goes against its guidelines: an answer, and never laundered through a fallback.
  {
    statuses: [403],
    said: /usage guidelines|SAFETY_CHECK|content.?policy/i,
    status: 400,
    code: 'content_policy_violation',
  },
];

function textOf({ message, responseBody }: APICallError): string {
  return `${message}\n${responseBody ?? ''}`;
}

/** The provider package finds the message in the maker's own shape; where it cannot, it gives the status in words. */
function messageOf({ message, statusCode = 0, responseBody = '' }: APICallError): string {
  if (message !== '' && message !== STATUS_CODES[statusCode]) return message;
  const words = wordsIn(responseBody) ?? (IS_MARKUP.test(responseBody) ? '' : responseBody);
  return words || message || `the upstream answered ${statusCode}`;
}

/** The page of a proxy in front of the maker: nothing for a caller to read. */
const IS_MARKUP = /^\s*</;

/** Seconds to wait, of the headers or of Google's `RetryInfo`; null where nothing says so. */
function retryAfterS(
  { responseHeaders = {}, responseBody = '' }: APICallError,
  now: () => number,
): number | null {
  const info = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(responseBody);
  return readRetryAfter(responseHeaders, now) ?? (info ? Number(info[1]) : null);
}

/** The network's own error is at the bottom of the causes: its code says what happened. */
function networkErrorOf(error: Error): Error {
  let deepest: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && deepest instanceof Error; depth += 1) {
    if (typeof (deepest as Error & { code?: unknown }).code === 'string') return deepest;
    deepest = deepest.cause;
  }
  return error;
}

const CAUSES_MAX = 8;

function asUnusable(error: unknown): unknown {
  if (EmptyResponseBodyError.isInstance(error))
    return new UnusableAnswer('the answer is empty', { cause: error });
  return error instanceof Error ? networkErrorOf(error) : error;
}

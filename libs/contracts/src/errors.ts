// Every error a caller can meet, once. `code` is the contract; messages are for people. docs/errors.md lists this
// table and a test keeps them the same.
import { z } from 'zod';

interface ErrorKind {
  readonly status: number;
  /** OpenAI's coarse family, which its clients show. */
  readonly type: string;
  /** What failed, then what to do: at most 20 words. */
  readonly meaning: string;
  /**
   * What `x-should-retry` says where it matters: official clients repeat 408, 409, 429 and 5xx by themselves, so
   * `false` stands where a retry would do harm or no good.
   */
  readonly retry?: boolean;
}

/** The family of a status; an error of another family names its own. */
const TYPES = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'invalid_request_error',
  409: 'conflict_error',
  410: 'not_found_error',
  412: 'invalid_request_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  416: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'server_error',
  502: 'upstream_error',
  503: 'server_error',
  504: 'upstream_error',
  507: 'server_error',
} as const;

interface ErrorRow extends Omit<ErrorKind, 'type'> {
  readonly status: keyof typeof TYPES;
  readonly type?: string;
}

export const ERRORS = {
  invalid_json: { status: 400, meaning: 'The body is not valid JSON. Send valid JSON.' },
  invalid_request: {
    status: 400,
    meaning: 'A field is missing, of the wrong type or out of range. Correct the field in `param`.',
  },
  invalid_multipart: {
    status: 400,
    meaning: 'The body is not valid multipart form data. Send the whole form with its boundary.',
  },
  audio_unreadable: {
    status: 400,
    meaning: 'The length of the audio cannot be found. Send mp3, wav, flac, ogg, m4a, webm or aac.',
  },
  unknown_field: { status: 400, meaning: 'The request has an unknown field. Remove the field in `param`.' },
  wrong_endpoint: {
    status: 400,
    meaning: 'The model is of another type. Use the endpoint that the message names.',
  },
  upstream_rejected: {
    status: 400,
    meaning: 'The model’s maker refused the request. Change the request as the maker’s message says.',
  },
  image_unavailable: {
    status: 400,
    meaning: 'The image cannot be pulled; `details.reason` says why. Check the name, tag and access.',
  },
  url_not_allowed: {
    status: 400,
    meaning: 'The URL in `param` is not allowed. Use http or https and a public address.',
  },
  url_fetch_failed: {
    status: 400,
    meaning:
      'The URL in `param` could not be fetched; `details.reason` says why. Correct the URL or its server.',
  },
  missing_api_key: {
    status: 401,
    meaning: 'The request has no API key. Send the header `Authorization: Bearer <key>`.',
  },
  invalid_api_key: { status: 401, meaning: 'The API key is unknown, revoked or replaced. Use another key.' },
  expired_api_key: { status: 401, meaning: 'The API key has expired. Use another key.' },
  insufficient_funds: {
    status: 402,
    meaning:
      'The org’s credits do not cover the call or the computer’s first minute. Ask the operator to grant credits.',
  },
  budget_exceeded: {
    status: 402,
    meaning: 'The cost exceeds what is left of a spending limit. Raise the limit or lower `max_tokens`.',
  },
  permission_denied: {
    status: 403,
    meaning: 'The key lacks a permission, or would grant more than it has. Use another key.',
  },
  org_suspended: {
    status: 403,
    meaning: 'The org of the key is suspended or deleted. Ask the operator of the service to restore it.',
  },
  url_expired: { status: 403, meaning: 'The signed URL has expired. Request a new one.' },
  url_not_valid: {
    status: 403,
    meaning: 'The URL is not signed by this service or was changed. Use the URL exactly as returned.',
  },
  csrf_token_invalid: {
    status: 403,
    meaning: 'The session cookie came without its token. Send the header `X-Switchyard-Csrf`.',
  },
  model_not_allowed: {
    status: 403,
    meaning: 'The key may not use this model. Use one of its `models`, or another key.',
  },
  route_not_found: { status: 404, meaning: 'The path does not exist. See /docs for all paths.' },
  org_not_found: { status: 404, meaning: 'No org has this id. GET /v1/orgs lists all orgs.' },
  provider_not_found: {
    status: 404,
    meaning: 'No provider has this name. GET /v1/providers lists all providers.',
  },
  model_not_found: {
    status: 404,
    meaning: 'The catalog has no model with this id. GET /v1/models lists all models.',
  },
  computer_not_found: {
    status: 404,
    meaning: 'The org has no computer with this id. GET /v1/computers lists all computers.',
  },
  file_not_found: {
    status: 404,
    meaning: 'The org has no stored file with this id. GET /v1/files lists all files.',
  },
  exec_not_found: {
    status: 404,
    meaning: 'The computer keeps no command with this id. GET /v1/computers/{id}/execs lists its commands.',
  },
  path_not_found: {
    status: 404,
    meaning: '/workspace has no file or folder at this path. Correct the path.',
  },
  key_not_found: { status: 404, meaning: 'The org has no key with this id. GET /v1/keys lists all keys.' },
  webhook_not_found: {
    status: 404,
    meaning: 'The org has no webhook with this id. GET /v1/webhooks lists all webhooks.',
  },
  log_not_found: {
    status: 404,
    meaning: 'No log has this request id. Logs appear within a second of the answer.',
  },
  charge_not_found: {
    status: 404,
    meaning: 'The org has no charge with this id. Only calls, videos and computer minutes have charges.',
  },
  video_not_found: {
    status: 404,
    meaning: 'The org has no video with this id. GET /v1/videos lists all videos.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not support this method. Use a method listed in the header `Allow`.',
  },
  body_timeout: {
    status: 408,
    retry: true,
    meaning: 'The body arrived too slowly; nothing was charged. Send it again.',
  },
  computer_not_running: { status: 409, retry: false, meaning: 'The computer is stopped. Start it first.' },
  computer_busy: {
    status: 409,
    retry: true,
    meaning: 'The computer is changing its state. Retry in a few seconds.',
  },
  refund_exceeds_charge: {
    status: 409,
    retry: false,
    meaning: 'The refund is larger than what is left of the charge. Refund at most the amount in `details`.',
  },
  video_expired: { status: 410, meaning: 'The video was kept for 24 hours and is deleted. Create it again.' },
  idempotency_in_use: {
    status: 409,
    retry: true,
    meaning:
      'The first request with this `Idempotency-Key` still runs: retry later. If its answer was lost, use a new key.',
  },
  idempotency_conflict: {
    status: 409,
    retry: false,
    meaning:
      'The `Idempotency-Key` was used for a stream, for another request or by another API key. Use a new one.',
  },
  precondition_failed: {
    status: 412,
    meaning:
      'The file is not the one that `If-Match` or `If-None-Match` asks for; nothing was written. Read it again.',
  },
  body_too_large: { status: 413, meaning: 'The body exceeds the limit in the message. Send less.' },
  storage_quota_exceeded: {
    status: 413,
    meaning: 'The org’s stored files would exceed its quota. Delete some files first.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The endpoint does not accept this content type. Use the type in the message.',
  },
  range_not_satisfiable: {
    status: 416,
    meaning: 'The requested range is outside the file. `details.bytes` is the length of the file.',
  },
  command_timed_out: {
    status: 422,
    type: 'command_error',
    meaning: 'The command was stopped at its timeout; `details` has its output. Raise `timeout`.',
  },
  rate_limited: {
    status: 429,
    retry: true,
    meaning:
      'A limit of the key or org is reached (`details.limit`), or all upstreams are limited. Retry after `Retry-After` seconds.',
  },
  computer_limit_reached: {
    status: 429,
    retry: false,
    meaning: 'The org has the maximum number of computers. Delete one first.',
  },
  idempotency_quota_exceeded: {
    status: 429,
    retry: false,
    meaning:
      'The answers kept for `Idempotency-Key`s fill the org’s quota; nothing ran. Omit the header or wait.',
  },
  internal_error: {
    status: 500,
    retry: false,
    meaning: 'The service failed unexpectedly. Report the request id to the operator.',
  },
  upstream_error: {
    status: 502,
    retry: false,
    meaning: 'All upstreams of the model failed; `details.attempts` lists them. Try another model.',
  },
  port_unreachable: {
    status: 502,
    retry: false,
    meaning: 'No server answered on the computer’s port; `details.reason` says why. Check the server.',
  },
  computer_failed: {
    status: 502,
    type: 'server_error',
    retry: false,
    meaning: 'The computer could not complete the request. Check the computer before you retry.',
  },
  model_unavailable: {
    status: 503,
    retry: false,
    meaning: 'No upstream of the model has credentials. The operator sets the variable in the message.',
  },
  no_capacity: {
    status: 503,
    retry: true,
    meaning: 'No computer host can take the computer; the message says why. Retry later.',
  },
  overloaded: {
    status: 503,
    retry: true,
    meaning: 'More requests arrive than can be served; nothing was begun. Retry after `Retry-After` seconds.',
  },
  provider_keys_locked: {
    status: 503,
    retry: false,
    meaning:
      'Stored keys of providers cannot be decrypted. Set SWITCHYARD_PROVIDERS_SECRET to the secret that encrypted them.',
  },
  service_unavailable: {
    status: 503,
    retry: true,
    meaning: 'Part of the service is unavailable; nothing was charged. Retry later.',
  },
  upstream_timeout: {
    status: 504,
    retry: false,
    meaning: 'No upstream answered in time. Retry, or use another model.',
  },
  storage_full: {
    status: 507,
    retry: false,
    meaning: 'The installation has no storage left. The operator must add storage.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** What a code means to a client. */
export function errorKind(code: ErrorCode): ErrorKind {
  const row: ErrorRow = ERRORS[code];
  return { type: TYPES[row.status], ...row };
}

export const errorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

/** HTTP body of an error outside /v1/messages; an OpenAI client shows it as its own error. */
export const errorBody = z.object({
  error: z
    .object({
      type: z.string().describe('The coarse family, as OpenAI’s clients know it'),
      code: errorCode.describe('For programs; it does not change'),
      message: z.string().describe('For people; it may change'),
      param: z.string().nullable().describe('The field at fault, if any'),
      request_id: z.string().describe('Names the request in Logs'),
      details: z.record(z.string(), z.unknown()).optional().describe('Depends on `code`'),
    })
    .describe('What went wrong'),
});
export type ErrorBody = z.infer<typeof errorBody>;

/** The last event of a stream of a computer that failed. */
export const errorEvent = z.object({ type: z.literal('error'), error: errorBody.shape.error });

interface ServiceErrorOptions {
  param?: string | undefined;
  details?: Record<string, unknown> | undefined;
  /** Seconds after which a repeat makes sense; becomes `Retry-After`. */
  retryAfterS?: number | undefined;
  /** An event with this outcome is already being published: do not emit another. */
  logged?: boolean | undefined;
  cause?: unknown;
}

/** An expected failure with its code: thrown anywhere, mapped to HTTP or to an error frame in one place each. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly retryAfterS: number | undefined;
  readonly logged: boolean;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.param = options.param;
    this.details = options.details;
    this.retryAfterS = options.retryAfterS;
    this.logged = options.logged ?? false;
  }

  /** The same error, whose outcome is in an event already. */
  asLogged(): ServiceError {
    const { param, details, retryAfterS, cause } = this;
    return new ServiceError(this.code, this.message, { param, details, retryAfterS, cause, logged: true });
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** `invalid_request` for a field of the request. @param param its path: `input.3.type` */
export function invalidParam(param: string, what: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', `${param}: ${what}`, { param, cause });
}

/** What crosses the bus in an error frame. */
export const wireError = z.object({
  code: errorCode,
  message: z.string(),
  param: z.string().optional(),
  details: z.record(z.string(), z.unknown()).optional(),
  retry_after_s: z.number().optional(),
  logged: z.literal(true).optional(),
});
export type WireError = z.infer<typeof wireError>;

/** Maximum characters of a message and a param on the bus: some repeat text that a caller chose. */
const MESSAGE_LENGTH_MAX = 4_000;
const PARAM_LENGTH_MAX = 512;

/** The wire form of any thrown thing; what is not a ServiceError is masked as `internal_error`. */
export function toWireError(thrown: unknown): WireError {
  if (!(thrown instanceof ServiceError))
    return { code: 'internal_error', message: 'Internal error. Report the request id to the operator.' };
  return {
    code: thrown.code,
    message: thrown.message.slice(0, MESSAGE_LENGTH_MAX),
    ...(thrown.param === undefined ? {} : { param: thrown.param.slice(0, PARAM_LENGTH_MAX) }),
    ...(thrown.details === undefined ? {} : { details: thrown.details }),
    ...(thrown.retryAfterS === undefined ? {} : { retry_after_s: thrown.retryAfterS }),
    ...(thrown.logged ? { logged: true } : {}),
  };
}

export function fromWireError(wire: WireError): ServiceError {
  const { param, details, retry_after_s: retryAfterS, logged } = wire;
  return new ServiceError(wire.code, wire.message, { param, details, retryAfterS, logged });
}

/** The HTTP body of an error. */
export function toErrorBody(error: ServiceError, requestId: string): ErrorBody {
  return {
    error: {
      type: errorKind(error.code).type,
      code: error.code,
      message: error.message,
      param: error.param ?? null,
      request_id: requestId,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
  };
}

/** Of a union, the issue of the option that has the value's type, or one that names the types of all options. */
function closestIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue;
  const ofOptions = issue.errors.flatMap(([first]) => (first ? [closestIssue(first)] : []));
  const isWithin = ofOptions.some(({ path }) => path.length > 0);
  const isOtherType = (code: string) => code === 'invalid_type' || (code === 'invalid_value' && isWithin);
  const ofItsType = ofOptions.filter(({ code, path }) => path.length > 0 || !isOtherType(code));
  const inner =
    ofItsType.find(({ code }) => code !== 'invalid_type') ??
    anyOfTheTypes(ofItsType) ??
    anyOfTheTypes(ofOptions);
  return inner ? { ...inner, path: [...issue.path, ...inner.path] } : issue;
}

const OR = ' or ';

/** The issue of a value that has none of several types, from one issue for each type. */
function anyOfTheTypes([first, ...others]: z.core.$ZodIssue[]): z.core.$ZodIssue | undefined {
  if (first?.code !== 'invalid_type') return undefined;
  const ofSameValue = [first, ...others].filter(
    (issue) => issue.code === 'invalid_type' && issue.path.join('.') === first.path.join('.'),
  ) as z.core.$ZodIssueInvalidType[];
  // An option may itself be one of several types.
  const types = new Set(ofSameValue.flatMap(({ expected }) => expected.split(OR)));
  const expected = [...types].join(OR) as typeof first.expected;
  const message = first.message.replace(`expected ${first.expected}`, `expected ${expected}`);
  return { ...first, expected, message };
}

/** Turns the first issue of a failed parse into a coded error that names the field. */
export function fromZodError(error: z.ZodError): ServiceError {
  const [first] = error.issues;
  if (!first) return new ServiceError('invalid_request', 'The request is not valid. See /docs.');
  const issue = closestIssue(first);
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const field = [...path, issue.keys[0] ?? ''].join('.');
    return new ServiceError('unknown_field', `Unknown field: ${field}. Remove it.`, { param: field });
  }
  const param = path.join('.');
  const { details } = (issue.code === 'custom' && issue.params) || {};
  if (param === '') return new ServiceError('invalid_request', issue.message, { details });
  return new ServiceError('invalid_request', `${param}: ${issue.message}`, { param, details });
}

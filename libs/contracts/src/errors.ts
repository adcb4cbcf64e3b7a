// Every error a caller can meet, once. `code` is the contract; messages are for people. docs/errors.md lists this
// table and a test holds the two together.
import { z } from 'zod';

export interface ErrorKind {
  readonly status: number;
  /** OpenAI's coarse family, which its clients show. */
  readonly type: string;
  readonly meaning: string;
  /**
   * What `x-should-retry` says where it matters: official clients repeat 408, 409, 429 and 5xx by themselves, so
   * `false` stands wherever a repeat would do harm or no good.
   */
  readonly retry?: boolean;
}

export const ERRORS = {
  invalid_json: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'The body is not JSON that can be read.',
  },
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'A field is missing, of the wrong type or out of its limits; `param` names it.',
  },
  invalid_multipart: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'The body is not multipart form data that can be read: cut short, or without a boundary.',
  },
  audio_unreadable: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      'The file is no audio whose length can be found, so it cannot be charged: send mp3, wav, flac, ogg, m4a, webm or aac.',
  },
  unknown_field: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'A body of ours (keys, computers) has a field that it does not know; `param` names it.',
  },
  wrong_endpoint: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'The model is of another type; the message names the endpoint that serves it.',
  },
  upstream_rejected: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      'The model’s maker refused the request (invalid, against its policy, too long for every model asked); its words are in the message.',
  },
  image_unavailable: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'The image of a computer cannot be pulled; `details.reason` says why.',
  },
  url_not_allowed: {
    status: 400,
    type: 'invalid_request_error',
    meaning:
      'A URL in the request (`param` names it) leads where we do not go: only https and http on public addresses.',
  },
  url_fetch_failed: {
    status: 400,
    type: 'invalid_request_error',
    meaning: 'A URL in the request (`param` names it) could not be fetched; `details.reason` says why.',
  },
  missing_api_key: {
    status: 401,
    type: 'authentication_error',
    meaning: 'No `Authorization: Bearer <key>` header.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    meaning: 'The key is unknown or was revoked.',
  },
  expired_api_key: { status: 401, type: 'authentication_error', meaning: 'The key has expired.' },
  insufficient_funds: {
    status: 402,
    type: 'billing_error',
    meaning:
      'The org’s credits are used up, or do not cover this call or the first minute of a computer; add some.',
  },
  budget_exceeded: {
    status: 402,
    type: 'billing_error',
    meaning:
      'The call, or the first minute of a computer, does not fit in what is left of the limit that the message names.',
  },
  permission_denied: {
    status: 403,
    type: 'permission_error',
    meaning: 'The key lacks the permission that the message names.',
  },
  url_expired: {
    status: 403,
    type: 'permission_error',
    meaning: 'The signed address has expired; ask for the video again to get another one.',
  },
  url_not_valid: {
    status: 403,
    type: 'permission_error',
    meaning: 'The address was not signed here, or was changed since.',
  },
  model_not_allowed: {
    status: 403,
    type: 'permission_error',
    meaning: 'The key may not use this model: it is not among its `models`.',
  },
  route_not_found: { status: 404, type: 'not_found_error', meaning: 'No such path.' },
  model_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No model of this id is in the catalog.',
  },
  computer_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No computer of this id: it never was, was deleted, or is another org’s.',
  },
  file_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No stored file of this id: it never was, was deleted, or is another org’s.',
  },
  exec_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning:
      'No command of this id is known to the computer: it never was, was not to continue without its caller, or its result is no longer kept.',
  },
  path_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'There is no file or folder at this path of the computer’s /workspace.',
  },
  key_not_found: { status: 404, type: 'not_found_error', meaning: 'No key of this id.' },
  webhook_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No webhook of this id: it never was, was deleted, or is another org’s.',
  },
  log_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No log of this request id (logs appear within a second of the answer).',
  },
  charge_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No charge of this id: it never was, cost nothing by its nature, or is another org’s.',
  },
  video_not_found: {
    status: 404,
    type: 'not_found_error',
    meaning: 'No video of this id: it never was, was deleted, or is another org’s.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    meaning: 'The path is right, the method is not; `Allow` lists those that are.',
  },
  body_timeout: {
    status: 408,
    type: 'invalid_request_error',
    retry: true,
    meaning: 'The body came too slowly, or stopped coming. Nothing was charged.',
  },
  computer_not_running: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    meaning: 'The computer is stopped; start it first.',
  },
  computer_busy: {
    status: 409,
    type: 'conflict_error',
    retry: true,
    meaning: 'The computer is in the middle of another change of state.',
  },
  refund_exceeds_charge: {
    status: 409,
    type: 'conflict_error',
    retry: false,
    meaning: 'More than is left of the charge; `details` says what was charged and what is left.',
  },
  video_expired: {
    status: 410,
    type: 'not_found_error',
    meaning: 'The result is not kept any more; it has to be copied within 24 hours.',
  },
  idempotency_in_use: {
    status: 409,
    type: 'conflict_error',
    retry: true,
    meaning:
      'The first request under this `Idempotency-Key` is not over, or its end is unknown; the message says which.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    meaning: 'The body is over the limit that the message names.',
  },
  storage_quota_exceeded: {
    status: 413,
    type: 'invalid_request_error',
    meaning: 'The org’s stored files would be over its quota; delete some first.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    meaning: 'The endpoint takes bodies of another type; the message names it.',
  },
  range_not_satisfiable: {
    status: 416,
    type: 'invalid_request_error',
    meaning:
      'Nothing of the range that `Range` asks for is in the file; `details.bytes` says how long it is.',
  },
  command_timed_out: {
    status: 422,
    type: 'command_error',
    meaning: 'The command was stopped at its timeout; the output so far is in `details`.',
  },
  idempotency_conflict: {
    status: 422,
    type: 'invalid_request_error',
    retry: false,
    meaning: 'The `Idempotency-Key` was used before, for another request.',
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    retry: true,
    meaning:
      'Too many requests here, or every upstream of the model is busy; `Retry-After` says when to come back.',
  },
  computer_limit_reached: {
    status: 429,
    type: 'rate_limit_error',
    retry: false,
    meaning: 'The org has as many computers as it may; delete one first.',
  },
  internal_error: {
    status: 500,
    type: 'server_error',
    retry: false,
    meaning: 'A fault of ours; quote the request id.',
  },
  upstream_error: {
    status: 502,
    type: 'upstream_error',
    retry: false,
    meaning: 'Every upstream of the model failed; `details.attempts` lists them.',
  },
  port_unreachable: {
    status: 502,
    type: 'upstream_error',
    retry: false,
    meaning:
      'In the computer nobody listens on the port, or the server there broke the connection off; `details.reason` says which.',
  },
  computer_failed: {
    status: 502,
    type: 'server_error',
    retry: false,
    meaning: 'The computer could not do what was asked, or could not be shown to have done it.',
  },
  model_unavailable: {
    status: 503,
    type: 'server_error',
    retry: false,
    meaning: 'The model’s upstream has no credentials here; the message names the variable to set.',
  },
  no_capacity: {
    status: 503,
    type: 'server_error',
    retry: true,
    meaning:
      'No computer host has room, none is connected, or the standard image is still being built; the message says which.',
  },
  service_unavailable: {
    status: 503,
    type: 'server_error',
    retry: true,
    meaning:
      'A part of the service is restarting, or has no room for a large body just now. Nothing was charged.',
  },
  upstream_timeout: {
    status: 504,
    type: 'upstream_error',
    retry: false,
    meaning: 'No upstream answered in time, or the time of the whole call was up.',
  },
  storage_full: {
    status: 507,
    type: 'server_error',
    retry: false,
    meaning: 'The installation has no room left for stored content; its operator is to give it more.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** What a code means to a client. */
export function errorKind(code: ErrorCode): ErrorKind {
  return ERRORS[code];
}

export const errorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

/** Where a key says nothing better, HTTP answers look like this; an OpenAI client shows it as its own error. */
export const errorBody = z.object({
  error: z
    .object({
      type: z.string().describe('The coarse family, as OpenAI’s clients know it'),
      code: errorCode.describe('What programs go by: the contract'),
      message: z.string().describe('For people; it may change'),
      param: z.string().nullable().describe('The field that is at fault, where one is'),
      request_id: z.string().describe('Names the request in Logs'),
      details: z.record(z.string(), z.unknown()).optional().describe('More, by the code'),
    })
    .describe('What went wrong'),
});
export type ErrorBody = z.infer<typeof errorBody>;

export interface ServiceErrorOptions {
  param?: string | undefined;
  details?: Record<string, unknown> | undefined;
  /** Seconds after which a repeat makes sense; becomes `Retry-After`. */
  retryAfterS?: number | undefined;
  /** An event with this outcome is on its way already: nobody need emit another. */
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

/** The wire form of any thrown thing; what is not a ServiceError is masked as `internal_error`. */
export function toWireError(thrown: unknown): WireError {
  if (!(thrown instanceof ServiceError))
    return { code: 'internal_error', message: 'an internal error; it was logged' };
  return {
    code: thrown.code,
    message: thrown.message,
    ...(thrown.param === undefined ? {} : { param: thrown.param }),
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
      type: ERRORS[error.code].type,
      code: error.code,
      message: error.message,
      param: error.param ?? null,
      request_id: requestId,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
  };
}

/** Turns the first issue of a failed parse into a coded error that names the field. */
export function fromZodError(error: z.ZodError): ServiceError {
  const issue = error.issues[0];
  if (!issue) return new ServiceError('invalid_request', 'the request is not valid');
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const field = [...path, issue.keys[0] ?? ''].join('.');
    return new ServiceError('unknown_field', `${field} is not a field of this request`, { param: field });
  }
  const param = path.join('.');
  const message = param === '' ? issue.message : `${param}: ${issue.message}`;
  return new ServiceError('invalid_request', message, param === '' ? {} : { param });
}

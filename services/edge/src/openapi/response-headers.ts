// Headers of answers, as the OpenAPI document describes them. Names are written as in docs; HTTP ignores case.

interface HeaderDescription {
  readonly description: string;
  readonly required?: true;
  readonly schema: Record<string, unknown>;
  readonly example?: unknown;
}

/** On every answer, errors included. */
export const REQUEST_ID_HEADER: Record<string, HeaderDescription> = {
  'X-Request-Id': {
    description: 'Names the request in Logs; quote it when something is wrong',
    required: true,
    schema: { type: 'string', pattern: '^req_' },
  },
};

/** On content that has a tag. */
export const ETAG_HEADER: Record<string, HeaderDescription> = {
  ETag: { description: 'Changes with the content', required: true, schema: { type: 'string' } },
};

/** On a repeated answer under an Idempotency-Key; its other headers are those of the first answer. */
export const REPLAYED_HEADER_DESCRIPTION: Record<string, HeaderDescription> = {
  'Idempotent-Replayed': {
    description:
      'This is the answer of the first request under the Idempotency-Key; nothing was run or charged now',
    schema: { type: 'string', enum: ['true'] },
  },
};

/** On the answer of a model; on a stream only if the price is known before it begins. */
export function costHeader(alwaysThere: boolean): Record<string, HeaderDescription> {
  return {
    'X-Service-Cost': {
      description: alwaysThere
        ? 'Cost of the call in US dollars, a plain decimal'
        : 'Cost of the call in US dollars, a plain decimal; a stream has it in its last chunk instead',
      ...(alwaysThere ? { required: true } : {}),
      schema: { type: 'string', pattern: '^\\d+(\\.\\d{1,9})?$' },
      example: '0.00000885',
    },
  };
}

/** On answers to a key with a limit of requests or tokens. */
export const LIMIT_HEADERS: Record<string, HeaderDescription> = {
  'RateLimit-Policy': {
    description: 'The limits of the caller, as in the IETF’s draft: `q` in every `w` seconds',
    schema: { type: 'string' },
    example: '"requests";q=60;w=60',
  },
  RateLimit: {
    description: '`r` remain of them; more follow after `t` seconds',
    schema: { type: 'string' },
    example: '"requests";r=12;t=30',
  },
};

const RETRY_HEADERS: Record<string, HeaderDescription> = {
  'X-Should-Retry': {
    description: 'Whether a retry can help; official clients obey it',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
};

const RETRY_AFTER_HEADER: Record<string, HeaderDescription> = {
  'Retry-After': {
    description: 'Seconds to wait before a retry, if known',
    schema: { type: 'string', pattern: '^\\d+$' },
    example: '1',
  },
};

const AUTHENTICATE_HEADER: Record<string, HeaderDescription> = {
  'WWW-Authenticate': {
    description: 'How to authenticate',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="switchyard"',
  },
};

/** Headers of an error with this status. */
export function errorHeaders(status: number): Record<string, HeaderDescription> {
  return {
    ...REQUEST_ID_HEADER,
    ...(status === 401 ? AUTHENTICATE_HEADER : {}),
    ...(status === 429 ? LIMIT_HEADERS : {}),
    ...(status === 409 || status === 429 || status === 503 ? RETRY_AFTER_HEADER : {}),
    ...(status === 409 || status >= 422 ? RETRY_HEADERS : {}),
  };
}

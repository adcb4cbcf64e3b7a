// Builds the OpenAPI 3.1 document from the table of routes and the zod schemas that serve the requests.
import {
  type Dialect,
  ERRORS,
  type ErrorCode,
  errorShapeOf,
  IDEMPOTENCY_HEADER,
  idempotencyKey,
  TAGS_HEADER,
} from '@switchyard/contracts';
import type { z } from 'zod';
import { JSON_DEPTH_MAX, JSON_NODES_MAX, JSON_VALUES_MAX } from '../http/json-bounds.ts';
import { SMALL_BODY_BYTES_MAX } from '../http/limits.ts';
import { permissionsOf, type RouteDescription, takesIdempotencyKey } from '../http/route.ts';
import { CALLER_HEADERS, PRECONDITION_HEADERS, RANGE_HEADERS, TAG_HEADERS } from './request-headers.ts';
import {
  costHeader,
  ETAG_HEADER,
  errorHeaders,
  LIMIT_HEADERS,
  REPLAYED_HEADER_DESCRIPTION,
  REQUEST_ID_HEADER,
} from './response-headers.ts';
import { Schemas } from './schemas.ts';

const JSON_BOUNDS = `JSON of at most ${JSON_NODES_MAX} objects, lists and members, ${JSON_VALUES_MAX} values and ${JSON_DEPTH_MAX} levels`;
const CHUNKS = 'With `stream: true`: chunks; the last one carries `usage.cost`';
const EVERYWHERE: readonly ErrorCode[] = ['internal_error', 'service_unavailable'];
const WITH_A_KEY: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'csrf_token_invalid',
  'org_suspended',
  'rate_limited',
  'overloaded',
];
const WITH_A_BODY: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_request',
  'body_too_large',
  'body_timeout',
  'unsupported_media_type',
];

const WITH_A_CHARGE: readonly ErrorCode[] = ['insufficient_funds', 'budget_exceeded'];

const WITH_AN_IDEMPOTENCY_KEY: readonly ErrorCode[] = [
  'invalid_request',
  'idempotency_in_use',
  'idempotency_conflict',
  'idempotency_quota_exceeded',
];

/** Describes the routes, except operational ones and the documents themselves. */
export function openApiDocument(routes: readonly RouteDescription[]): Record<string, unknown> {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.filter(({ path }) => /^\/v\d\//.test(path) && !path.endsWith('api.json'))) {
    const operations = paths[route.path] ?? {};
    operations[route.method.toLowerCase()] = operation(route, schemas);
    paths[route.path] = operations;
  }
  return schemas.document({
    openapi: '3.1.0',
    info: {
      title: 'Switchyard',
      version: '1',
      description:
        'One HTTP API for AI models of several kinds and for rentable Linux computers, under one set of keys and one bill.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key of Switchyard' } },
    },
  });
}

/** @throws Error for an operation without a name */
function operation(route: RouteDescription, schemas: Schemas): Record<string, unknown> {
  const { method, path, operationId, request, response } = route;
  if (operationId === undefined) throw new Error(`${method} ${path} has no operationId`);
  return {
    tags: [route.tag],
    operationId,
    summary: route.summary,
    description: [route.description, repeatNote(route), permissionNote(route)].filter(Boolean).join('\n\n'),
    security: securityOf(route),
    parameters: [
      ...parametersOf(request?.params, 'path', schemas, route),
      ...parametersOf(request?.query, 'query', schemas),
      ...(takesIdempotencyKey(route) ? [idempotencyKeyParameter(route, schemas)] : []),
      ...callerHeadersOf(route),
      ...contentHeadersOf(route),
    ],
    ...(request?.body || request?.form || request?.bytes ? { requestBody: requestBody(route, schemas) } : {}),
    responses: {
      ...(route.untouchedBody || response.status === 101
        ? opaqueAnswer(route)
        : { [response.status]: success(route, schemas), ...streamBesides(route, schemas) }),
      ...(response.inParts ? { 206: part(route, schemas) } : {}),
      ...(response.tagged ? { 304: NOT_MODIFIED } : {}),
      ...errorsByStatus(codesOf(route, schemas), route.dialect, schemas),
    },
  };
}

function callerHeadersOf({ charges, takesTags }: RouteDescription) {
  if (charges === 'in_answer') return CALLER_HEADERS;
  return takesTags ? CALLER_HEADERS.filter(({ name }) => name === TAGS_HEADER) : [];
}

function contentHeadersOf({ response, errors = [] }: RouteDescription) {
  return [
    ...(response.inParts ? RANGE_HEADERS : []),
    ...(response.tagged ? TAG_HEADERS : []),
    ...(errors.includes('precondition_failed') ? PRECONDITION_HEADERS : []),
  ];
}

const NOT_MODIFIED = {
  description: 'Its tag is in `If-None-Match`',
  headers: { ...REQUEST_ID_HEADER, ...ETAG_HEADER },
};

/** All errors that the route can answer: its own, and those of the guard and of reading a body. */
function codesOf(route: RouteDescription, schemas: Schemas): readonly ErrorCode[] {
  const { permission, request, errors = [] } = route;
  return [
    ...(permission === 'public' ? [] : WITH_A_KEY),
    ...(permission === 'public' || permission === 'any' ? [] : (['permission_denied'] as const)),
    ...(request?.body || request?.form ? WITH_A_BODY : []),
    ...(request?.query ? (['invalid_request'] as const) : []),
    ...(isStrict(request?.body, schemas) || isStrict(request?.query, schemas)
      ? (['unknown_field'] as const)
      : []),
    ...(takesIdempotencyKey(route) ? WITH_AN_IDEMPOTENCY_KEY : []),
    ...(route.charges ? WITH_A_CHARGE : []),
    ...errors,
    ...EVERYWHERE,
  ];
}

/** Whether the schema refuses members that it does not know. */
function isStrict(schema: z.ZodType | undefined, schemas: Schemas): boolean {
  return schema !== undefined && schemas.inline(schema, 'input').additionalProperties === false;
}

const BYTES = { schema: { type: 'string', format: 'binary' } };

function requestBody({ request, bodyBytesMax = SMALL_BODY_BYTES_MAX }: RouteDescription, schemas: Schemas) {
  const { body, form, bytes } = request ?? {};
  return {
    // An empty file is one too.
    required: bytes !== true && body?.safeParse(undefined).success !== true,
    description: `At most ${bodyBytesMax} bytes${body ? `; ${JSON_BOUNDS}` : ''}`,
    content: {
      ...(body ? { 'application/json': { schema: schemas.of(body, 'input') } } : {}),
      ...(form ? { 'multipart/form-data': { schema: schemas.of(form, 'input') } } : {}),
      ...(bytes ? { 'application/octet-stream': BYTES, '*/*': BYTES } : {}),
    },
  };
}

function idempotencyKeyParameter({ response }: RouteDescription, schemas: Schemas) {
  return {
    name: IDEMPOTENCY_HEADER,
    in: 'header',
    required: false,
    description:
      'Your name for this request: a repeat within 24 hours is not run, but gets the first answer' +
      (response.alsoStreams ? '. A repeat of a stream is refused with 409' : ''),
    schema: schemas.inline(idempotencyKey, 'input'),
  };
}

function success(route: RouteDescription, schemas: Schemas) {
  const { description, body, contentType = 'application/json', folder, tagged } = route.response;
  const { alsoStreams = false, streamStatus, asText = [] } = route.response;
  return {
    description,
    headers: {
      ...REQUEST_ID_HEADER,
      ...(route.charges === 'in_answer' ? costHeader(!alsoStreams) : {}),
      ...(takesIdempotencyKey(route) ? REPLAYED_HEADER_DESCRIPTION : {}),
      ...(route.permission === 'public' ? {} : LIMIT_HEADERS),
      // A folder has no tag.
      ...(tagged && !folder ? ETAG_HEADER : {}),
    },
    content: {
      [contentType]: body ? { schema: schemas.of(body, 'output') } : {},
      ...(folder ? { 'application/json': { schema: schemas.of(folder, 'output') } } : {}),
      ...Object.fromEntries(asText.map((type) => [type, { schema: { type: 'string' } }])),
      ...(alsoStreams && streamStatus === undefined ? eventStream(route, schemas) : {}),
    },
  };
}

/** A stream with another status than the whole answer. */
function streamBesides(route: RouteDescription, schemas: Schemas) {
  const { streamStatus } = route.response;
  if (streamStatus === undefined) return {};
  const description = 'With `stream: true`';
  return {
    [streamStatus]: { description, headers: REQUEST_ID_HEADER, content: eventStream(route, schemas) },
  };
}

/** The schema is that of each event's `data`; without one, the stream is that of a maker's dialect. */
function eventStream(
  { response: { streamDescription: description = CHUNKS, streamEvent } }: RouteDescription,
  schemas: Schemas,
) {
  const schema = streamEvent ? { allOf: [schemas.of(streamEvent, 'output')] } : { type: 'string' };
  return { 'text/event-stream': { schema: { ...schema, description } } };
}

/**
 * Answers of another server, with any status, or the bytes of an upgraded connection: their content is not described.
 */
function opaqueAnswer({ response: { status, description } }: RouteDescription) {
  return status === 101
    ? { 101: { description, headers: REQUEST_ID_HEADER } }
    : { default: { description, headers: REQUEST_ID_HEADER } };
}

function part(route: RouteDescription, schemas: Schemas) {
  const range = { schema: { type: 'string' }, description: 'bytes <first>-<last>/<all>' };
  const { folder: _, ...response } = route.response; // only a file has parts
  const { headers, ...rest } = success({ ...route, response }, schemas);
  return {
    ...rest,
    description: 'The part that `Range` requested',
    headers: { ...headers, 'Content-Range': range },
  };
}

function errorsByStatus(
  codes: readonly ErrorCode[],
  dialect: Dialect | undefined,
  schemas: Schemas,
): Record<string, unknown> {
  const responses: Record<string, unknown> = {};
  for (const [status, group] of Map.groupBy(new Set(codes), (code) => ERRORS[code].status))
    responses[status] = {
      description: group.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n'),
      headers: errorHeaders(status),
      content: { 'application/json': { schema: errorOf(group, dialect, schemas) } },
    };
  return responses;
}

/** The error body with one of these codes. */
function errorOf(codes: readonly ErrorCode[], dialect: Dialect | undefined, schemas: Schemas) {
  const oneOfThem = { type: 'object', properties: { code: { enum: codes } } };
  return {
    allOf: [
      schemas.of(errorShapeOf(dialect).schema, 'output'),
      { type: 'object', properties: { error: oneOfThem } },
    ],
  };
}

/**
 * OpenAPI 3.1 cannot express a path parameter with slashes, so `x-rest-of-path` is our extension. Its value `optional`
 * means that the path may end before the parameter, without the slash.
 */
function parametersOf(
  schema: z.ZodType | undefined,
  where: 'path' | 'query',
  schemas: Schemas,
  { restParam, restOptional }: Pick<RouteDescription, 'restParam' | 'restOptional'> = {},
): unknown[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemas.inline(schema, 'input') as {
    properties?: Record<string, { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...described }]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    ...(name === restParam ? { 'x-rest-of-path': restOptional ? 'optional' : true } : {}),
    schema: described,
  }));
}

/** OpenAPI 3.1 allows the names of roles, here permissions, for any kind of scheme. */
function securityOf(route: RouteDescription): object[] {
  return route.permission === 'public' ? [] : [{ key: permissionsOf(route) }];
}

function repeatNote({ repeatable }: RouteDescription): string {
  if (repeatable !== false) return '';
  return 'After a 5xx work may have begun: `x-should-retry` is false, except with `no_capacity` and `overloaded`.';
}

function permissionNote(route: RouteDescription): string {
  if (route.permission === 'public') return 'Needs no key.';
  const needed = permissionsOf(route).map((permission) => `\`${permission}\``);
  if (needed.length === 0) return 'Needs a valid key.';
  return `Needs the permission${needed.length > 1 ? 's' : ''} ${needed.join(' and ')}.`;
}

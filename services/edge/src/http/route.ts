// The declaration of a route. Registration, guard, validation and the OpenAPI document are all derived from it.
import type { Dialect, ErrorCode, KeyRecord, Permission } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

export interface RouteDescription {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** In OpenAPI's notation: /v1/keys/{id}. */
  path: string;
  /** Its name in the OpenAPI document; generators name functions after it. Operational routes have none. */
  operationId?: string;
  /** The path's last parameter, if it takes the rest of the path with all slashes, since an id may contain some. */
  restParam?: string;
  /** The route also matches the path without the rest and its slash. */
  restOptional?: true;
  /** `any`: every valid key; `public`: no key needed. */
  permission: Permission | 'any' | 'public';
  /** A further permission that the key needs. */
  alsoNeeds?: Permission;
  tag: string;
  summary: string;
  /** Details for the reference page. */
  description?: string;
  /** Maximum bytes of the body; default `SMALL_BODY_BYTES_MAX`. */
  bodyBytesMax?: number;
  /** `form` describes a multipart body, `bytes` a body of any type; the route reads both itself. */
  request?: { body?: z.ZodType; form?: z.ZodType; bytes?: true; query?: z.ZodType; params?: z.ZodType };
  response: {
    status: number;
    description: string;
    body?: z.ZodType;
    /** Type of an answer that is not JSON; `*` as in `audio/*`. */
    contentType?: string;
    alsoStreams?: boolean;
    /** Status of a stream, if it differs from `status`. */
    streamStatus?: number;
    /** Description of the stream, if it is not a stream of model chunks. */
    streamDescription?: string;
    /** Shape of the `data` of each event of the stream. */
    streamEvent?: z.ZodType;
    /** Media types of text answers that the request may ask for. */
    asText?: readonly string[];
    /** Answered as JSON instead of bytes when the path is a folder. */
    folder?: z.ZodType;
    /** Supports `Range` with 206. */
    inParts?: true;
    /** Supports `If-None-Match` with 304. */
    tagged?: true;
  };
  /** The shape of its body, its answer and its errors; other routes have OpenAI's errors. */
  dialect?: Dialect;
  /**
   * Its work is charged, and refused while billing might never book it or when the money is short. `in_answer`: the answer
   * has the cost in X-Service-Cost, by `Receipts.stateCost`; a stream only if the price is known in advance.
   */
  charges?: 'in_answer' | 'later';
  /** What it makes takes the tags of the request. A call takes over all that its caller says about it. */
  takesTags?: true;
  /** Runs a command in a computer while it is open: counts in `concurrent_commands`. */
  runsCommand?: true;
  /** False: work may have begun before a 5xx, so clients must not repeat the request, except when the code says that none has. */
  repeatable?: false;
  /** The request is for another server: neither its body nor its `Idempotency-Key` is read. */
  untouchedBody?: true;
  /** Path parameter with the computer's id, which the log row of a refused call names. */
  computerParam?: 'id';
  /** Errors of this route, besides those of every route and of every body and query (openapi/document.ts). */
  errors?: readonly ErrorCode[];
}

/** For routes that send a file: whole, in parts, or as 304. */
export const CONTENT_RESPONSE = {
  status: 200,
  description: 'The content',
  contentType: '*/*',
  inParts: true,
  tagged: true,
} as const satisfies RouteDescription['response'];

interface JsonInput<R extends RouteDescription['request']> {
  key: KeyRecord;
  requestId: string;
  /** The request's validated `Idempotency-Key`; null without one. */
  idempotencyKey: string | null;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  body: R extends { body: infer S extends z.ZodType } ? z.infer<S> : undefined;
  query: R extends { query: infer S extends z.ZodType } ? z.infer<S> : undefined;
  params: R extends { params: infer S extends z.ZodType } ? z.infer<S> : undefined;
}

/** A route that answers with one JSON value. */
export interface JsonRoute extends RouteDescription {
  kind: 'json';
  handle(input: never): Promise<unknown>;
}

/** A route that writes its answer itself. */
interface RawRoute extends RouteDescription {
  kind: 'raw';
  handle(request: FastifyRequest, reply: FastifyReply): void | Promise<void>;
}

export type Route = JsonRoute | RawRoute;

/** Declares a JSON route; its schemas type the handler's input. */
export function jsonRoute<const R extends NonNullable<RouteDescription['request']>>(
  description: RouteDescription & { request: R },
  handle: (input: JsonInput<R>) => Promise<unknown>,
): JsonRoute {
  return { ...description, kind: 'json', handle };
}

type Guarded = RouteDescription & { permission: Exclude<RouteDescription['permission'], 'public'> };

/** Declares a raw route that needs a key; the handler gets the caller's key. */
export function rawRoute(
  description: Guarded,
  handle: (request: FastifyRequest, reply: FastifyReply, key: KeyRecord) => void | Promise<void>,
): RawRoute {
  return {
    ...description,
    kind: 'raw',
    handle: (request, reply) => handle(request, reply, callerOf(request)),
  };
}

/** Declares a raw route without a key. */
export function publicRoute(
  description: Omit<RouteDescription, 'permission'>,
  handle: RawRoute['handle'],
): RawRoute {
  return { ...description, permission: 'public', kind: 'raw', handle };
}

/** Declares a GET route beside the API, such as a page or a probe: it needs no key and is in no document. */
export function pageRoute(
  path: string,
  handle: RawRoute['handle'],
  rest: Pick<RouteDescription, 'restParam' | 'restOptional'> = {},
): RawRoute {
  const response = { status: 200, description: 'A page' };
  return publicRoute({ method: 'GET', path, tag: 'Pages', summary: path, response, ...rest }, handle);
}

/** Returns the key of a request that passed the guard of a non-public route. */
export function callerOf({ apiKey }: FastifyRequest): KeyRecord {
  if (!apiKey) throw new Error('a guarded route without a key');
  return apiKey;
}

/** Whether a request of the route is a call of a model. */
export function isModelCall({ charges, permission }: RouteDescription): boolean {
  return charges !== undefined && permission === 'models:write';
}

/** The permissions that a key needs for the route. */
export function permissionsOf({
  permission,
  alsoNeeds,
}: Pick<RouteDescription, 'permission' | 'alsoNeeds'>): Permission[] {
  if (permission === 'public' || permission === 'any') return [];
  return alsoNeeds ? [permission, alsoNeeds] : [permission];
}

/** Every POST with a key may have an `Idempotency-Key`. */
export function takesIdempotencyKey({ method, permission, untouchedBody }: RouteDescription): boolean {
  return method === 'POST' && permission !== 'public' && !untouchedBody;
}

// What a route is: declared once, it is registered, guarded, checked and described in the OpenAPI document from here.
import type { ErrorCode, KeyRecord, Permission } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

export interface RouteDescription {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** OpenAPI's form: /v1/keys/{id}. */
  path: string;
  /** The path's last parameter, where it takes the rest of the path with all its slashes: an id may have some. */
  restParam?: string;
  /** The path that ends before the rest, without the slash, is the route's as well. */
  restOptional?: true;
  /** `any`: every valid key may; `public`: no key is needed. */
  permission: Permission | 'any' | 'public';
  tag: string;
  summary: string;
  /** More about it, for the reference page. */
  description?: string;
  /** Bytes of the body at most; default `SMALL_BODY_BYTES_MAX`. */
  bodyBytesMax?: number;
  /** `form` describes a multipart body, `bytes` says that there is one of any type: the route reads both itself. */
  request?: { body?: z.ZodType; form?: z.ZodType; bytes?: true; query?: z.ZodType; params?: z.ZodType };
  response: {
    status: number;
    description: string;
    body?: z.ZodType;
    /** Of an answer that is not JSON; `*` as in `audio/*`. */
    contentType?: string;
    alsoStreams?: boolean;
    /** The status of a stream, where it is another than `status`. */
    streamStatus?: number;
    /** What its stream is, where that is not a stream of a model's chunks. */
    streamDescription?: string;
    /** Media types in which the answer comes as text instead, where the request asks for that. */
    asText?: readonly string[];
    /** With `Range` a part of it is answered, as 206. */
    inParts?: true;
    /** Its cost is in X-Service-Cost too; of a stream only where the price is known before. */
    priced?: true;
  };
  /** False: work may have begun before a 5xx, so clients are told not to repeat; `no_capacity` says that none has. */
  repeatable?: false;
  /** The request is another server's: its body is left on the wire, and its `Idempotency-Key` is that server's too. */
  untouchedBody?: true;
  /** The parameter of the path that names a computer: a refused call is logged under it. */
  computerParam?: 'id';
  /** Errors of its own, beside those that every route has. */
  errors: readonly ErrorCode[];
}

export interface JsonInput<R extends RouteDescription['request']> {
  key: KeyRecord;
  requestId: string;
  /** The request's `Idempotency-Key`, checked; null without one. */
  idempotencyKey: string | null;
  /** Aborted when the client goes away. */
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
export interface RawRoute extends RouteDescription {
  kind: 'raw';
  handle(request: FastifyRequest, reply: FastifyReply): void | Promise<void>;
}

export type Route = JsonRoute | RawRoute;

/** Declares a JSON route; its handler's input is typed by its schemas. */
export function jsonRoute<const R extends NonNullable<RouteDescription['request']>>(
  description: RouteDescription & { request: R },
  handle: (input: JsonInput<R>) => Promise<unknown>,
): JsonRoute {
  return { ...description, kind: 'json', handle };
}

type Guarded = RouteDescription & { permission: Exclude<RouteDescription['permission'], 'public'> };

/** Declares a raw route for callers that are known; its handler is given the caller's key. */
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

/** Declares a raw route that needs no key. */
export function publicRoute(
  description: Omit<RouteDescription, 'permission'>,
  handle: RawRoute['handle'],
): RawRoute {
  return { ...description, permission: 'public', kind: 'raw', handle };
}

/** The key of a request that has passed the guard of a route that is not public. */
export function callerOf({ apiKey }: FastifyRequest): KeyRecord {
  if (!apiKey) throw new Error('a guarded route without a key');
  return apiKey;
}

/** Every POST of a caller that is known may carry an `Idempotency-Key`. */
export function takesIdempotencyKey({ method, permission, untouchedBody }: RouteDescription): boolean {
  return method === 'POST' && permission !== 'public' && !untouchedBody;
}

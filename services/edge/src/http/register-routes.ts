// Registers the routes of the table: paths, guard, idempotency, and who reads the body.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ID_PATTERN, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { requirePermission } from '../auth/authenticate.ts';
import { callerContextOf } from '../auth/caller-context.ts';
import type { BookingGate } from '../backlog/booking-gate.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import type { AdmissionQueue } from '../overload/admission-queue.ts';
import { type LimitHooksDeps, limitHooks } from '../rate-limits/limit-hooks.ts';
import type { Sessions } from '../session/sessions.ts';
import { SMALL_BODY_BYTES_MAX } from './limits.ts';
import { check, parseBody } from './read-body.ts';
import { clientGone } from './request-over.ts';
import { isModelCall, type JsonRoute, permissionsOf, type Route, takesIdempotencyKey } from './route.ts';
import { sendJson } from './send-json.ts';
import { streamedBody } from './streamed-body.ts';

export interface RegisterRoutesDeps {
  authenticate: Sessions['authenticate'];
  booking: Pick<BookingGate, 'check'>;
  idempotency: Idempotency;
  queue: AdmissionQueue;
  rateLimits: LimitHooksDeps;
  clock: Clock;
}

/** Routes whose bodies are read alike share a scope of the server. */
export function registerRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  deps: RegisterRoutesDeps,
): void {
  for (const [reader, group] of Map.groupBy(routes, bodyReaderOf))
    app.register(async (scope) => {
      BODY_READERS[reader](scope, deps.clock);
      for (const route of group) registerRoute(scope, route, deps);
    });
  refuseOtherMethods(app, routes);
}

/**
 * Answers the other methods of each path with 405. A path without parameters wins over matching paths with
 * parameters, as in OpenAPI: DELETE of /v1/computers/options is not DELETE of a computer with this id.
 */
function refuseOtherMethods(app: FastifyInstance, routes: readonly Route[]): void {
  const paths = routes.flatMap((route) => pathPatterns(route).map((url) => ({ route, url })));
  for (const [url, group] of Map.groupBy(paths, (path) => path.url)) {
    const methods = group.flatMap(({ route: { method } }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const dialect = group[0]?.route.dialect;
    app.route({
      method: app.supportedMethods.filter((method) => !methods.includes(method)),
      url,
      exposeHeadRoute: false,
      config: dialect ? { dialect } : {},
      onRequest(request, reply, done) {
        const allow = methods.join(', ');
        reply.header('allow', allow);
        const path = request.originalUrl.split('?')[0];
        done(new ServiceError('method_not_allowed', `Method not allowed for ${path}. Use ${allow}.`));
      },
      handler: () => {},
    });
  }
}

function registerRoute(scope: FastifyInstance, route: Route, deps: RegisterRoutesDeps): void {
  const guards = guardsOf(route, deps);
  const begin = beginOf(route, deps);
  const waits = waitsOf(route, deps);
  const { onRequest: taken, ...hooks } = takesIdempotencyKey(route)
    ? deps.idempotency.hooksFor(route)
    : { onRequest: null };
  for (const url of pathPatterns(route))
    scope.route({
      ...hooks,
      method: route.method,
      url,
      bodyLimit: route.bodyBytesMax ?? SMALL_BODY_BYTES_MAX,
      exposeHeadRoute: true, // with GET: health checks use HEAD
      config: { repeatable: route.repeatable ?? true, ...(route.dialect ? { dialect: route.dialect } : {}) },
      onRequest: [
        ...(taken ? [taken] : []),
        begin,
        ...guards.onRequest,
        ...waits.onRequest,
        ...limitHooks(route, deps.rateLimits),
      ],
      preHandler: [...guards.preHandler, ...waits.preHandler],
      handler:
        route.kind === 'json'
          ? (request, reply) => answerJson(route, request, reply)
          : (request, reply) => route.handle(request, reply),
    });
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/** `preHandler` runs when a JSON body has arrived. */
interface Hooks<H> {
  readonly onRequest: H[];
  readonly preHandler: H[];
}

type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

function beginOf({ computerParam, untouchedBody }: Route, { clock }: RegisterRoutesDeps): Hook {
  return (request, _reply, done) => {
    if (!untouchedBody) acceptApiKeyHeader(request.headers);
    request.startedAt = clock.monotonic();
    request.models = [];
    if (computerParam !== undefined) request.subject = computerOf(request, computerParam);
    done();
  };
}

/**
 * Anthropic's clients send the key as `x-api-key`. It is accepted on every route, except where the request is for a server
 * in a computer, which may have keys of its own.
 */
function acceptApiKeyHeader(headers: IncomingHttpHeaders): void {
  const key = headers['x-api-key'];
  if (headers.authorization === undefined && typeof key === 'string') headers.authorization = `Bearer ${key}`;
}

/** A JSON body may take minutes to arrive, and the key may be revoked meanwhile: such a request is checked again. */
function guardsOf(route: Route, { authenticate, booking }: RegisterRoutesDeps): Hooks<Guard> {
  if (route.permission === 'public') return { onRequest: [], preHandler: [] };
  const guard = guardOf(route, { authenticate, booking });
  return { onRequest: [guard], preHandler: route.request?.body ? [guard] : [] };
}

/** Admits a request whose key has the route's permissions; charged work only while it can be charged. */
function guardOf(
  route: Route,
  { authenticate, booking }: Pick<RegisterRoutesDeps, 'authenticate' | 'booking'>,
): Guard {
  const needed = permissionsOf(route);
  return async (request, reply) => {
    reply.header('cache-control', 'no-store'); // for caches on the way, which may not know that a cookie is a credential
    // Also for an answer that its route writes itself, but not for that of a server in a computer.
    if (!route.untouchedBody) reply.raw.setHeader('cache-control', 'no-store');
    try {
      const key = await authenticate(request.headers);
      request.apiKey = key;
      if (route.charges) request.caller ??= callerContextOf(request.headers, key);
      for (const permission of needed) requirePermission(key, permission);
      if (route.charges) booking.check();
    } catch (error) {
      request.idempotent?.forget(); // no work has begun
      throw error;
    }
  };
}

/**
 * Lets a request with a key begin when it is its org's turn. A model call takes a place among the open calls when its
 * JSON body has arrived, so that slow bodies hold none. A route that reads a form itself does so later, with `openCall`.
 */
function waitsOf(route: Route, { queue }: RegisterRoutesDeps): Hooks<Hook> {
  if (route.permission === 'public') return { onRequest: [], preHandler: [] };
  const begin: Hook = (request, _reply, done) => queue.begin(request, done);
  if (!isModelCall(route) || route.request?.form) return { onRequest: [begin], preHandler: [] };
  const openCall: Hook = (request, reply, done) => queue.openCall(request, reply, done);
  return route.request?.body
    ? { onRequest: [begin], preHandler: [openCall] }
    : { onRequest: [begin, openCall], preHandler: [] };
}

/** The paths in the router's notation. */
function pathPatterns({ path, restParam, restOptional }: Route): string[] {
  const paths = restParam === undefined ? [path] : [path.replace(`{${restParam}}`, '*')];
  if (restOptional) paths.push(path.replace(`/{${restParam}}`, ''));
  return paths.map((one) => one.replaceAll(/\{(\w+)\}/g, ':$1'));
}

function paramsOf({ restParam }: Route, { params }: FastifyRequest): unknown {
  if (restParam === undefined) return params;
  const { '*': rest, ...others } = params as Record<string, string>;
  return { ...others, [restParam]: rest };
}

async function answerJson(
  route: JsonRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { request: schemas = {} } = route;
  const input = {
    key: request.apiKey,
    requestId: request.id,
    idempotencyKey: (request.headers['idempotency-key'] as string | undefined) ?? null,
    signal: clientGone(request, reply),
    params: schemas.params ? check(schemas.params, paramsOf(route, request)) : undefined,
    query: schemas.query ? check(schemas.query, request.query) : undefined,
    body: schemas.body ? parseBody(schemas.body, request.body) : undefined,
  };
  sendJson(reply, await route.handle(input as never), route.response.status);
  return reply;
}

function computerOf(request: FastifyRequest, param: string): FastifyRequest['subject'] {
  const id = (request.params as Record<string, string | undefined>)[param];
  return { type: null, model: null, computer: id !== undefined && ID_PATTERN.test(id) ? id : null };
}

type BodyReader = 'json' | 'form' | 'none' | 'untouched';

function bodyReaderOf({ request, untouchedBody }: Route): BodyReader {
  if (untouchedBody) return 'untouched';
  if (request?.form || request?.bytes) return 'form';
  return request?.body ? 'json' : 'none';
}

const BODY_READERS: Readonly<Record<BodyReader, (scope: FastifyInstance, clock: Clock) => void>> = {
  json: () => {},
  form: leaveBodies,
  untouched(scope) {
    leaveBodies(scope);
    ignoreTypes(scope);
  },
  none: ignoreBodies,
};

/** The route reads its body from `request.raw` itself, for any content type. */
function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/**
 * On routes without a body, a body of any type is read, within bounds, and discarded piece by piece: fetch labels an
 * empty one text/plain.
 */
function ignoreBodies(scope: FastifyInstance, clock: Clock): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', async (_request: FastifyRequest, raw: IncomingMessage) => {
    for await (const _piece of streamedBody(raw, { clock, bytesMax: SMALL_BODY_BYTES_MAX }));
  });
  ignoreTypes(scope);
}

/** Removes the content type, since an invalid one would be refused before parsing. `rawHeaders` still contains it. */
function ignoreTypes(scope: FastifyInstance): void {
  scope.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done();
  });
}

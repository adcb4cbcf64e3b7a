// The HTTP server: every route from the table, one guard, one place for errors.
import type { EventPublisher } from '@switchyard/bus';
import { eventIds, ID_PATTERN, type KeyRecord, makeEvent, ServiceError } from '@switchyard/contracts';
import type { ByteBudget, Clock, Logger } from '@switchyard/service';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type onRequestHookHandler,
} from 'fastify';
import { type Authenticate, requirePermission } from '../auth/authenticate.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { clientGone } from './client-gone.ts';
import { Connections } from './connections.ts';
import { readJsonBodies } from './json-bodies.ts';
import {
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  PROBE_AFTER_MS,
  REQUEST_TIMEOUT_MS,
  SMALL_BODY_BYTES_MAX,
} from './limits.ts';
import { check, parseBody } from './read-body.ts';
import { requestIds } from './request-id.ts';
import { type JsonRoute, type Route, takesIdempotencyKey } from './route.ts';
import { renderError, toServiceError } from './send-error.ts';
import type { Upgrades } from './upgrades.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** As in `RouteDescription`. */
    repeatable?: boolean;
  }
  interface FastifyRequest {
    /** Who calls, once known; null on public routes and before the guard. */
    apiKey: KeyRecord | null;
    startedAt: number;
    /** What an error's log row should say beside the path. */
    subject: { type: string | null; model: string | null; computer: string | null };
  }
}

export interface AppOptions {
  routes: Route[];
  authenticate: Authenticate;
  events: EventPublisher;
  /** Of the whole process: what routes that read their bodies themselves take theirs from too. */
  largeBodies: ByteBudget;
  idempotency: Idempotency;
  upgrades: Upgrades;
  clock: Clock;
  logger: Logger;
}

export const EVENT_SOURCE = '/switchyard/edge';

export function buildApp(options: AppOptions): FastifyInstance {
  const { routes, authenticate, events, largeBodies, idempotency, upgrades, clock, logger } = options;
  const connections = new Connections();
  const app = fastify({
    logger: false,
    genReqId: requestIds(),
    bodyLimit: SMALL_BODY_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      shouldUpgradeCallback: upgrades.isWanted,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
    },
    forceCloseConnections: 'idle',
    // While draining, what still comes on a kept-alive connection is answered, with `connection: close`.
    return503OnClosing: false,
    clientErrorHandler: (_error, socket) => connections.refuse(socket),
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: (error, request, reply) =>
      sendError(request as FastifyRequest, reply as FastifyReply, error),
  });
  connections.watch(app.server);
  upgrades.watch(app);
  app.addHook('preClose', (done) => {
    connections.drain();
    done();
  });
  app.removeAllContentTypeParsers();
  readJsonBodies(app, { budget: largeBodies, clock });
  app.decorateRequest('apiKey', null);
  app.decorateRequest('startedAt', 0);
  app.decorateRequest('idempotent', null);
  app.decorateRequest('subject');

  const sendError = (request: FastifyRequest, reply: FastifyReply, thrown: unknown) => {
    const error = toServiceError(thrown);
    request.heldBody?.release();
    if (error.code === 'internal_error')
      logger.error(
        { err: thrown, request: request.id, path: request.url },
        'a request failed with an error that nobody expected',
      );
    if (request.apiKey && !error.logged) logRefusal(request, request.apiKey, error);
    const { status, headers, body } = renderError(error, request.id, request.routeOptions.config.repeatable);
    // Closing at once, as fastify would, resets the connection of a client that is still sending: it would never read
    // why. The rest of its body is taken and dropped instead, for at most REQUEST_TIMEOUT_MS.
    if (error.code === 'body_too_large') reply.removeHeader('connection');
    reply.code(status).headers(headers).send(body);
  };

  const logRefusal = (request: FastifyRequest, key: KeyRecord, error: ServiceError) => {
    const data = {
      request_id: request.id,
      org: key.org,
      key_id: key.id,
      type: request.subject?.type ?? null,
      method: request.method,
      path: request.routeOptions.url ?? request.url.slice(0, 200),
      requested_model: request.subject?.model ?? null,
      computer_id: request.subject?.computer ?? null,
      http_status: error.status,
      error_code: error.code,
      latency_ms: Math.round((clock.monotonic() - request.startedAt) * 100) / 100,
    };
    const id = eventIds.refused(request.id);
    void events.publish(
      makeEvent({ name: 'call.refused', id, source: EVENT_SOURCE, time: new Date(clock.now()), data }),
    );
  };

  const register = (scope: FastifyInstance, route: Route) => {
    const guard: onRequestHookHandler = (request, _reply, done) => {
      request.startedAt = clock.monotonic();
      if (route.computerParam !== undefined) request.subject = computerOf(request, route.computerParam);
      if (route.permission === 'public') return done();
      const { permission } = route;
      const admit = (key: KeyRecord) => {
        request.apiKey = key;
        if (permission !== 'any') requirePermission(key, permission);
      };
      try {
        const found = authenticate(request.headers.authorization);
        if (!(found instanceof Promise)) {
          admit(found);
          return done();
        }
        found.then(admit).then(() => done(), done);
      } catch (error) {
        done(error as Error);
      }
    };
    const { onRequest: taken, ...hooks } = takesIdempotencyKey(route)
      ? idempotency.hooksFor(route)
      : { onRequest: null };
    for (const url of pathPatterns(route, ':$1', '*'))
      scope.route({
        ...hooks,
        method: route.method,
        url,
        bodyLimit: route.bodyBytesMax ?? SMALL_BODY_BYTES_MAX,
        exposeHeadRoute: true, // where it is a GET: health checks ask that way
        config: { repeatable: route.repeatable ?? true },
        onRequest: taken ? [taken, guard] : guard,
        handler:
          route.kind === 'json'
            ? (request, reply) => answerJson(route, request, reply)
            : (request, reply) => route.handle(request, reply),
      });
  };

  const { json = [], form = [], none = [], untouched = [] } = Object.groupBy(routes, bodyOf);
  app.register(async (scope) => {
    for (const route of json) register(scope, route);
  });
  app.register(async (scope) => {
    leaveBodies(scope);
    for (const route of form) register(scope, route);
  });
  app.register(async (scope) => {
    leaveBodies(scope);
    ignoreTypes(scope);
    for (const route of untouched) register(scope, route);
  });
  app.register(async (scope) => {
    ignoreBodies(scope);
    for (const route of none) register(scope, route);
  });

  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  const allowed = methodsByPath(routes);
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] as string;
    const methods = allowed(path);
    if (methods.length === 0)
      return sendError(
        request,
        reply,
        new ServiceError('route_not_found', `there is no ${request.method} ${path}; see /docs`),
      );
    reply.header('allow', methods.join(', '));
    sendError(request, reply, new ServiceError('method_not_allowed', `${path} takes ${methods.join(', ')}`));
  });
  return app;
}

/** The paths with their parameters written as `param` (`$1` is the name), and the one that takes the rest as `rest`. */
function pathPatterns({ path, restParam, restOptional }: Route, param: string, rest: string): string[] {
  const paths = restParam === undefined ? [path] : [path.replace(`{${restParam}}`, rest)];
  if (restOptional) paths.push(path.replace(`/{${restParam}}`, ''));
  return paths.map((one) => one.replaceAll(/\{(\w+)\}/g, param));
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
  const { request: schemas = {}, response } = route;
  const input = {
    key: request.apiKey,
    requestId: request.id,
    idempotencyKey: (request.headers['idempotency-key'] as string | undefined) ?? null,
    signal: clientGone(request, reply),
    params: schemas.params ? check(schemas.params, paramsOf(route, request)) : undefined,
    query: schemas.query ? check(schemas.query, request.query) : undefined,
    body: schemas.body ? parseBody(schemas.body, request.body) : undefined,
  };
  const answer = await route.handle(input as never);
  return reply
    .code(response.status)
    .header('content-type', response.contentType ?? 'application/json; charset=utf-8')
    .header('x-request-id', request.id)
    .send(typeof answer === 'string' ? answer : JSON.stringify(answer));
}

function computerOf(request: FastifyRequest, param: string): FastifyRequest['subject'] {
  const id = (request.params as Record<string, string | undefined>)[param];
  return { type: null, model: null, computer: id !== undefined && ID_PATTERN.test(id) ? id : null };
}

function bodyOf({ request, untouchedBody }: Route): 'json' | 'form' | 'none' | 'untouched' {
  if (untouchedBody) return 'untouched';
  if (request?.form || request?.bytes) return 'form';
  return request?.body ? 'json' : 'none';
}

/** The route reads its body off `request.raw` itself, whatever its type. */
function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** Where no body is asked for, one of any type is read, within bounds, and dropped: fetch calls an empty one text/plain. */
function ignoreBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  ignoreTypes(scope);
}

/** One that is no media type at all would be refused before it is parsed; as it was sent it stays in `rawHeaders`. */
function ignoreTypes(scope: FastifyInstance): void {
  scope.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done();
  });
}

/** For 405: which methods a path has. */
function methodsByPath(routes: Route[]): (path: string) => string[] {
  const patterns = routes.flatMap((route) =>
    pathPatterns(route, '[^/]+', '.+').map((path) => ({
      method: route.method,
      pattern: new RegExp(`^${path}$`),
    })),
  );
  return (path) => [
    ...new Set(
      patterns
        .filter(({ pattern }) => pattern.test(path))
        .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    ),
  ];
}

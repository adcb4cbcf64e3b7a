// The HTTP server: its limits, its hooks, the routes of the table, and one error handler.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type CallerContext, type Dialect, type KeyRecord, ServiceError } from '@switchyard/contracts';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { type AnswerErrorDeps, answerError } from './answer-error.ts';
import type { IntakeDeps } from './body-intake.ts';
import { Connections } from './connections.ts';
import { hasValidHost } from './host-header.ts';
import { readJsonBodies } from './json-bodies.ts';
import {
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  PROBE_AFTER_MS,
  REQUEST_TIMEOUT_MS,
  SMALL_BODY_BYTES_MAX,
} from './limits.ts';
import { type RegisterRoutesDeps, registerRoutes } from './register-routes.ts';
import type { Route } from './route.ts';
import type { Upgrades } from './upgrades.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** As in `RouteDescription`. */
    repeatable?: boolean;
    dialect?: Dialect;
  }
  interface FastifyRequest {
    /** The caller's key, once known; null on public routes and before the guard. */
    apiKey: KeyRecord | null;
    /** For requests that begin charged work; null otherwise, and before the guard. */
    caller: CallerContext | null;
    startedAt: number;
    /** Models that the answer may come from. */
    models: string[];
    /** Further fields for the log row of an error. */
    subject: { type: string | null; model: string | null; computer: string | null };
  }
}

/** Endpoints of OpenAI that clients try and this service does not have, with what to do instead. */
const NOT_SERVED: Readonly<Record<string, string>> = {
  '/v1/moderations': 'Use POST /v1/decisions with a question for each category.',
};

interface AppDeps extends RegisterRoutesDeps, AnswerErrorDeps {
  /** Shared by the process; routes that read their bodies themselves use it too. */
  intake: IntakeDeps;
  upgrades: Upgrades;
  /** The part of a URL that decides the route. */
  routedUrl(raw: IncomingMessage): string;
}

export function buildApp(routes: readonly Route[], deps: AppDeps): FastifyInstance {
  const { intake, upgrades, clock } = deps;
  const connections = new Connections({ upgrades, clock });
  const app = createServer(deps, connections);
  connections.watch(app.server);
  upgrades.watch(app);
  app.removeAllContentTypeParsers();
  readJsonBodies(app, intake);
  app.decorateRequest('apiKey', null);
  app.decorateRequest('caller', null);
  app.decorateRequest('startedAt', 0);
  app.decorateRequest('idempotent', null);
  app.decorateRequest('admission', null);
  app.decorateRequest('models');
  app.decorateRequest('subject');
  registerRoutes(app, routes, deps);
  app.setErrorHandler((error, request, reply) => answerError(deps, request, reply, error));
  const answerNotFound = (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.originalUrl.split('?')[0] as string;
    const message = `Path not found: ${request.method} ${path}. ${NOT_SERVED[path] ?? 'See /docs.'}`;
    answerError(deps, request, reply, new ServiceError('route_not_found', message));
  };
  // Before fastify looks at the body: it would refuse QUERY without a content type with 400.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.raw.socket.destroyed) return; // requests that arrived in the same packet as one too many
    if (!hasValidHost(request.raw)) done(invalidHost());
    else if (request.is404) answerNotFound(request, reply);
    else done();
  });
  app.setNotFoundHandler(answerNotFound);
  return app;
}

function invalidHost(): ServiceError {
  return new ServiceError('invalid_request', 'The Host header is not valid. Send one host name.');
}

function createServer(deps: AppDeps, connections: Connections): FastifyInstance {
  const newRequestId = requestIds();
  return fastify({
    logger: false,
    genReqId: newRequestId,
    bodyLimit: SMALL_BODY_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      shouldUpgradeCallback: deps.upgrades.isWanted,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
    },
    forceCloseConnections: 'idle',
    // While draining, requests on kept-alive connections are answered with `connection: close`.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => connections.refuse(error, socket, newRequestId()),
    rewriteUrl: deps.routedUrl,
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: (error, request, reply) =>
      answerError(deps, request as FastifyRequest, reply as FastifyReply, error),
  });
}

/** Request ids, unique over all edges and restarts and cheap to make: a random part per process, then a counter. */
function requestIds(): () => string {
  const boot = randomBytes(9).toString('base64url').replaceAll('-', 'A').replaceAll('_', 'B');
  let count = 0;
  return () => `req_${boot}${(count++).toString(36).padStart(4, '0')}`;
}

// JSON request and reply, typed by the contracts, on top of bus calls. They share cancellation, errors and the
// detection of dead peers with all other calls.

import type { Service } from '@nats-io/services';
import {
  ALL_PLACES,
  fromZodError,
  HOST_OPERATIONS,
  type HostOperationName,
  type HostOperationRequest,
  type HostOperationResponse,
  hostSubject,
  isFromHost,
  OPERATIONS,
  type OperationName,
  type OperationRequest,
  type OperationResponse,
  operationPattern,
  operationSubject,
  ServiceError,
} from '@switchyard/contracts';
import type { z } from 'zod';
import type { Bus } from './bus.ts';
import type { CallHandler, ServiceInfo } from './callee.ts';
import { collectBody } from './incoming-body.ts';
import type { IncomingCall } from './incoming-call.ts';
import { COLLECTED_BODY_BYTES_MAX } from './limits.ts';
import type { CallRequest } from './outgoing-call.ts';
import { openReply } from './reply.ts';

interface RequestOptions {
  /** Milliseconds; default `REQUEST_TIMEOUT_MS_DEFAULT`. `Infinity` for operations without a time limit. */
  timeoutMs?: number;
  /** Aborting it also cancels the operation on the other side. */
  signal?: AbortSignal;
  requestId?: string;
}

export interface OperationContext {
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
  requestId: string | null;
}

export type OperationHandler<N extends OperationName> = (
  request: OperationRequest<N>,
  context: OperationContext,
) => Promise<OperationResponse<N>>;

/** Handlers by the names of their operations. */
export type Handlers = { readonly [N in OperationName]?: OperationHandler<N> };

const REQUEST_TIMEOUT_MS_DEFAULT = 30_000;

/**
 * Calls an operation on any instance of its service.
 * @throws ServiceError as thrown by the service, or `service_unavailable`.
 */
export function request<N extends OperationName>(
  bus: Bus,
  name: N,
  payload: OperationRequest<N>,
  options?: RequestOptions,
): Promise<OperationResponse<N>> {
  return requestJson(bus, operationSubject(name, payload), payload, options) as Promise<OperationResponse<N>>;
}

/** Calls an operation on one computer host. */
export function requestHost<N extends HostOperationName>(
  bus: Bus,
  hostId: string,
  verb: N,
  payload: HostOperationRequest<N>,
  options?: RequestOptions,
): Promise<HostOperationResponse<N>> {
  return requestJson(bus, hostSubject(hostId, verb), payload, options) as Promise<HostOperationResponse<N>>;
}

/** Like `requestHost`, for callers that pass the answer on: returns its JSON unparsed. */
export function requestHostBytes<N extends HostOperationName>(
  bus: Bus,
  hostId: string,
  verb: N,
  payload: HostOperationRequest<N>,
  options?: RequestOptions,
): Promise<Buffer> {
  return requestBytes(bus, hostSubject(hostId, verb), payload, options);
}

async function requestJson(
  bus: Bus,
  subject: string,
  payload: unknown,
  options?: RequestOptions,
): Promise<unknown> {
  return JSON.parse((await requestBytes(bus, subject, payload, options)).toString('utf8'));
}

function requestBytes(
  bus: Bus,
  subject: string,
  payload: unknown,
  { requestId, ...options }: RequestOptions = {},
): Promise<Buffer> {
  const head = { request_id: requestId ?? null };
  return requestWhole(bus, { subject, head, body: Buffer.from(JSON.stringify(payload)) }, options);
}

/**
 * Sends a head and bytes to a service, and resolves with the whole answer.
 * @throws ServiceError as `openReply`; `service_unavailable` for an answer over COLLECTED_BODY_BYTES_MAX
 */
export async function requestWhole(
  bus: Bus,
  asked: Pick<CallRequest, 'subject' | 'head' | 'body'>,
  { signal, timeoutMs = REQUEST_TIMEOUT_MS_DEFAULT }: Omit<RequestOptions, 'requestId'>,
): Promise<Buffer> {
  const timeout = Number.isFinite(timeoutMs) ? { timeoutMs } : {};
  const { body } = await openReply(bus, { ...asked, ...timeout }, signal);
  return collectBody(body, COLLECTED_BODY_BYTES_MAX, answerTooLarge);
}

const answerTooLarge = () =>
  new ServiceError('service_unavailable', 'The answer of the service is too large. Ask for less.');

/** A registered service: takes handlers, and can be drained. */
export class ServiceHost {
  readonly #bus: Bus;
  readonly #service: Service;

  constructor(bus: Bus, service: Service) {
    this.#bus = bus;
    this.#service = service;
  }

  /** Serves a duplex call. */
  stream(subject: string, handler: CallHandler): void {
    this.#bus.callee.serve(this.#service, subject, handler);
  }

  /** @param places partition of an operation on the money of orgs (`placesPattern`); default: all partitions */
  handle<N extends OperationName>(name: N, handler: OperationHandler<N>, places = ALL_PLACES): void {
    const { request: schema } = OPERATIONS[name];
    this.stream(operationPattern(name, places), (call) =>
      answerJson(call, schema, async (request, context) => {
        if (isFromHost(name)) requireOwnSubject(call, operationSubject(name, request as OperationRequest<N>));
        return (handler as JsonHandler)(request, context);
      }),
    );
  }

  handleAll(handlers: Handlers): void {
    for (const name of Object.keys(handlers) as OperationName[])
      this.handle(name, handlers[name] as OperationHandler<OperationName>);
  }

  handleHost<N extends HostOperationName>(
    hostId: string,
    verb: N,
    handler: (
      request: HostOperationRequest<N>,
      context: OperationContext,
    ) => Promise<HostOperationResponse<N>>,
  ): void {
    this.stream(hostSubject(hostId, verb), (call) =>
      answerJson(call, HOST_OPERATIONS[verb].request, handler as JsonHandler),
    );
  }

  /** Accepts no further calls and resolves when the open ones have ended. */
  async drain(): Promise<void> {
    await this.#service.stop();
    await this.#bus.callee.idle(this.#service);
    this.#bus.publisher.flush();
    if (this.#bus.connected) await this.#bus.nc.flush();
  }
}

/** Registers a service; the endpoints of all its instances share the queue group of its name. */
export async function serve(bus: Bus, info: ServiceInfo): Promise<ServiceHost> {
  return new ServiceHost(bus, await bus.callee.register(info));
}

/** A host names itself in the request, and nats-server has checked the subject only. */
function requireOwnSubject({ subject }: IncomingCall, expected: string): void {
  if (subject !== expected)
    throw new ServiceError('permission_denied', 'The request names another host than its subject.');
}

type JsonHandler = (request: unknown, context: OperationContext) => Promise<unknown>;

async function answerJson(call: IncomingCall, schema: z.ZodType, handler: JsonHandler): Promise<void> {
  const request = await readRequest(call, schema);
  const { request_id: requestId } = call.head as { request_id: string | null };
  const response = await handler(request, { signal: call.signal, requestId });
  call.end(null, Buffer.from(JSON.stringify(response)));
}

/**
 * The request of an operation whose answer is not only JSON.
 * @throws ServiceError `invalid_json`, `invalid_request`, `unknown_field`; or the error that ends the call
 */
export async function readRequest<S extends z.ZodType>(call: IncomingCall, schema: S): Promise<z.output<S>> {
  const parsed = schema.safeParse(parseJson(await call.readBody()));
  if (!parsed.success) throw fromZodError(parsed.error);
  return parsed.data;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new ServiceError('invalid_json', 'The body of the operation is not JSON.', { cause });
  }
}

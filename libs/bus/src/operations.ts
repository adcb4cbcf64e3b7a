// Request and reply in JSON, typed by the contracts, on top of the one call that everything uses: so they have the same
// cancel, the same errors and the same notice of dead peers.

import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Service } from '@nats-io/services';
import {
  ALL_PLACES,
  formerSubject,
  fromZodError,
  HOST_OPERATIONS,
  type HostOperationName,
  type HostOperationRequest,
  type HostOperationResponse,
  hostSubject,
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
import type { CallHandler, IncomingCall, ServiceInfo } from './callee.ts';
import { isLong, jsonPieces } from './json-pieces.ts';

export interface RequestOptions {
  /** Milliseconds; default `REQUEST_TIMEOUT_MS_DEFAULT`. `Infinity` for what takes as long as it takes. */
  timeoutMs?: number;
  /** Aborting it cancels the operation on the other side too. */
  signal?: AbortSignal;
  requestId?: string;
}

export interface OperationContext {
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
  requestId: string | null;
}

export const REQUEST_TIMEOUT_MS_DEFAULT = 30_000;

/**
 * Asks for an operation of any instance of its service.
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

/** Asks one computer host. */
export function requestHost<N extends HostOperationName>(
  bus: Bus,
  hostId: string,
  verb: N,
  payload: HostOperationRequest<N>,
  options?: RequestOptions,
): Promise<HostOperationResponse<N>> {
  return requestJson(bus, hostSubject(hostId, verb), payload, options) as Promise<HostOperationResponse<N>>;
}

/** The same for who passes the answer on: its JSON as it came. */
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
  options: RequestOptions = {},
): Promise<Buffer> {
  const { signal, requestId, timeoutMs = REQUEST_TIMEOUT_MS_DEFAULT } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const chunks: Buffer[] = [];
    const onAbort = () => {
      call.cancel();
      reject(signal?.reason);
    };
    const settled = () => signal?.removeEventListener('abort', onAbort);
    const call = bus.call(
      {
        subject,
        head: { request_id: requestId ?? null },
        body: Buffer.from(JSON.stringify(payload)),
        ...(Number.isFinite(timeoutMs) ? { timeoutMs } : {}),
      },
      {
        onHead: () => {},
        onData: (bytes) => {
          chunks.push(bytes);
          call.consumed(bytes.length);
        },
        onEnd: (_end, last) => {
          settled();
          resolve(chunks.length === 0 ? last : Buffer.concat([...chunks, last]));
        },
        onError: (error) => {
          settled();
          reject(error);
        },
      },
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A registered service: where handlers are hung, and how it is drained. */
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

  /** @param places of an operation on the money of orgs: for which it is served (`placesPattern`); default: for all */
  handle<N extends OperationName>(
    name: N,
    handler: (request: OperationRequest<N>, context: OperationContext) => Promise<OperationResponse<N>>,
    places = ALL_PLACES,
  ): void {
    const { request: schema } = OPERATIONS[name];
    const answer: CallHandler = (call) => answerJson(call, schema, handler as JsonHandler);
    this.stream(operationPattern(name, places), answer);
    const former = places === ALL_PLACES ? formerSubject(name) : null;
    if (former !== null) this.stream(former, answer);
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

  /** Takes no further call, and resolves when those that are on have ended. */
  async drain(): Promise<void> {
    await this.#service.stop();
    await this.#bus.callee.idle(this.#service);
    this.#bus.publisher.flush();
    if (this.#bus.connected) await this.#bus.nc.flush();
  }
}

/** Registers a service with the fleet; its endpoints share the queue group of its name. */
export async function serve(bus: Bus, info: ServiceInfo): Promise<ServiceHost> {
  return new ServiceHost(bus, await bus.callee.register(info));
}

type JsonHandler = (request: unknown, context: OperationContext) => Promise<unknown>;

async function answerJson(call: IncomingCall, schema: z.ZodType, handler: JsonHandler): Promise<void> {
  const request = await readRequest(call, schema);
  const { request_id: requestId } = call.head as { request_id: string | null };
  const response = await handler(request, { signal: call.signal, requestId });
  if (!isLong(response)) return call.end(null, Buffer.from(JSON.stringify(response)));
  for (const piece of jsonPieces(response)) {
    if (!call.write(Buffer.from(piece))) await call.drained();
    await othersTurn();
    if (call.isCancelled) return;
  }
  call.end(null);
}

/**
 * The request of an operation that is answered otherwise than by JSON alone.
 * @throws ServiceError `invalid_json`, `invalid_request`, `unknown_field`; what ends the call
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
    throw new ServiceError('invalid_json', 'the operation’s body is not JSON', { cause });
  }
}

// The serving side: takes calls from the queue group and passes them to a handler. The NATS services framework makes
// every instance visible to `nats micro ls`.

import { type Service, Svcm } from '@nats-io/services';
import type { NatsConnection } from '@nats-io/transport-node';
import { ServiceError } from '@switchyard/contracts';
import { calleeOf, callOfReply, frameSubject, frameToAllSubject, isCallTo } from './call-subjects.ts';
import { decodeFrame, FRAME, type Frame, type OpenMeta } from './frame.ts';
import { IncomingCall } from './incoming-call.ts';
import type { Peers } from './peers.ts';
import { type RecentEvent, RecentEvents } from './recent-events.ts';
import type { TurnPublisher } from './turn-publisher.ts';

export type CallHandler = (call: IncomingCall) => void | Promise<void>;

export interface ServiceInfo {
  /** Also the queue group. */
  name: string;
  version: string;
  description: string;
}

export class Callee {
  readonly #nc: NatsConnection;
  readonly #publisher: TurnPublisher;
  readonly #peers: Peers;
  readonly #instance: string;
  readonly #calls = new Map<string, IncomingCall>();
  readonly #recent = new RecentEvents();
  /** The users whose subjects are served here. */
  readonly #users = new Set<string>();
  readonly #onFault: (error: unknown, subject: string) => void;
  /** Number of open calls per service. */
  readonly #open = new Map<Service, number>();
  readonly #onIdle = new Map<Service, () => void>();

  constructor(
    nc: NatsConnection,
    publisher: TurnPublisher,
    peers: Peers,
    instance: string,
    onFault: (error: unknown, subject: string) => void,
  ) {
    this.#nc = nc;
    this.#publisher = publisher;
    this.#peers = peers;
    this.#instance = instance;
    this.#onFault = onFault;
    this.#receiveFrames(frameSubject(instance, ''));
  }

  #receiveFrames(prefix: string): void {
    this.#nc.subscribe(`${prefix}>`, {
      callback: (error, message) => {
        if (error) return;
        const name = message.subject.slice(prefix.length);
        const frame = decodeFrame(message.data);
        if (frame?.kind === FRAME.again) return this.#publishAgain(name);
        const call = frame && this.#calls.get(name);
        if (!call) return;
        // The connection reads nothing more once a callback throws.
        try {
          call.received(frame);
        } catch (thrown) {
          this.#failed(call, thrown, message.subject);
        }
      },
    });
  }

  #publishAgain(name: string): void {
    const event = this.#recent.get(name);
    if (event) this.#publishEvent(event);
  }

  #publishEvent({ subject, payload, reply, headers }: RecentEvent): void {
    this.#publisher.publish(subject, payload, reply, headers);
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Registers the service; `serve` adds the endpoints. */
  register(info: ServiceInfo): Promise<Service> {
    return new Svcm(this.#nc).add({ ...info, queue: info.name });
  }

  serve(service: Service, subject: string, handler: CallHandler): void {
    const user = calleeOf(subject);
    if (!this.#users.has(user)) this.#receiveFrames(frameToAllSubject(user, ''));
    this.#users.add(user);
    const name = subject.replace(/[^A-Za-z0-9_-]+/g, '-');
    service.addEndpoint(name, {
      subject,
      handler: (error, message) => {
        const { reply } = message;
        if (error || reply === undefined) return;
        const frame = decodeFrame(message.data);
        const meta = frame && readOpen(frame);
        if (meta && isCallTo(user, meta.from, reply))
          this.#take({ reply, meta, body: frame.data }, handler, { service, subject: message.subject });
        else if (reply.startsWith('_INBOX.'))
          message.respondError(400, 'not a call of Switchyard: see libs/bus/README.md');
      },
    });
  }

  #take(
    { reply, meta, body }: { reply: string; meta: OpenMeta; body: Buffer },
    handler: CallHandler,
    { service, subject }: { service: Service; subject: string },
  ): void {
    const key = callOfReply(reply);
    let event: RecentEvent | null = null;
    const call = new IncomingCall(meta.head, body, meta.more, meta.credit, {
      publisher: this.#publisher,
      reply,
      subject,
      from: meta.from,
      fromLink: meta.link ?? 0,
      publishEvent: (made) => {
        event = made;
        this.#publishEvent(made);
      },
      at: `"at":"${this.#instance}","link":${this.#peers.link}`,
      closed: () => {
        // Callers ask for it after the end of the call, which comes late to a slow reader.
        if (event) this.#recent.keep(key, event);
        this.#calls.delete(key);
        this.#ended(service);
      },
    });
    this.#calls.set(key, call);
    this.#open.set(service, (this.#open.get(service) ?? 0) + 1);
    this.#peers.heard(meta.from);
    try {
      handler(call)?.catch((error: unknown) => this.#failed(call, error, subject));
    } catch (error) {
      this.#failed(call, error, subject);
    }
  }

  #ended(service: Service): void {
    const left = (this.#open.get(service) ?? 0) - 1;
    if (left > 0) {
      this.#open.set(service, left);
      return;
    }
    this.#open.delete(service);
    this.#onIdle.get(service)?.();
    this.#onIdle.delete(service);
  }

  #failed(call: IncomingCall, error: unknown, subject: string): void {
    if (!(error instanceof ServiceError)) this.#onFault(error, subject);
    call.fail(error);
  }

  /** Callers receive nothing during a disconnect and give up their calls, so this side ends the calls too. */
  disconnected(): void {
    for (const call of [...this.#calls.values()]) call.cancelled();
  }

  sweep(now: number, inUse: Set<string>): void {
    this.#recent.sweep(now);
    for (const call of [...this.#calls.values()]) {
      inUse.add(call.from);
      if (this.#peers.isLost(call.from, call.fromLink)) call.cancelled();
      else call.sweep(now);
    }
  }

  /** Resolves when this service has no open calls. */
  idle(service: Service): Promise<void> {
    if (!this.#open.has(service)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle.set(service, resolve);
    });
  }
}

function readOpen(frame: Frame): OpenMeta | null {
  if (frame.kind !== FRAME.open) return null;
  try {
    return JSON.parse(frame.meta) as OpenMeta;
  } catch {
    return null;
  }
}

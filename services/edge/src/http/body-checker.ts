// Checks JSON bodies without blocking the event loop: small ones at once, large ones in a thread. Parsing 32 MiB takes
// 70 to 230 ms.
import { Worker } from 'node:worker_threads';
import { fromWireError, ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import { beforeWork } from '../idempotency/before-work.ts';
import type { BodyCheck, CheckedReply } from './check-body.worker.ts';
import type { CheckedBody, CheckedBodyName } from './checked-bodies.ts';
import { checkBody } from './read-body.ts';

/** Maximum bytes of a body that is checked at once; the worst case takes about 10 ms. */
export const INLINE_BODY_BYTES_MAX = 64 * 1024;
/** Maximum large bodies that wait for the thread, of all orgs and of one. */
const WAITING_MAX = 256;
export const ORG_WAITING_MAX = 64;
/** MiB of parsed values; the largest body takes about 250. */
const HEAP_MIB_MAX = 512;

interface Waiting {
  readonly org: string | null;
  resolve(reply: CheckedReply): void;
  reject(error: ServiceError): void;
}

export class BodyChecker {
  readonly #logger: Logger;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #nextId = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Checks the body of a request, and returns the members that its route reads. `request.body` keeps the bytes.
   * @throws ServiceError `invalid_json`, `invalid_request`, `unknown_field`; `service_unavailable` when too many wait
   */
  async check<N extends CheckedBodyName>(name: N, request: FastifyRequest): Promise<CheckedBody<N>> {
    const { body } = request;
    if (!Buffer.isBuffer(body) || body.length <= INLINE_BODY_BYTES_MAX) return checkBody(name, body);
    const { bytes, error, value } = await beforeWork(
      request.idempotent,
      this.#askWorker(name, body, request.apiKey?.org ?? null),
    );
    request.body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (error) throw fromWireError(error);
    return value as CheckedBody<N>;
  }

  /** Ends the thread; waiting bodies are refused. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Transfers the body's memory to the thread and back, so that only one copy exists. */
  async #askWorker(name: CheckedBodyName, body: Buffer, org: string | null): Promise<CheckedReply> {
    if (!this.#hasRoom(org))
      throw new ServiceError('service_unavailable', 'Too many large bodies are waiting. Retry later.', {
        retryAfterS: 1,
      });
    this.#worker ??= this.#startWorker();
    const id = this.#nextId++;
    const bytes = ownMemory(body);
    const check: BodyCheck = { id, name, bytes };
    const reply = Promise.withResolvers<CheckedReply>();
    this.#waiting.set(id, { org, ...reply });
    this.#worker.postMessage(check, [bytes.buffer]);
    return reply.promise;
  }

  #hasRoom(org: string | null): boolean {
    const ofOrg = this.#waiting.values().filter((waiting) => waiting.org === org);
    return this.#waiting.size < WAITING_MAX && [...ofOrg].length < ORG_WAITING_MAX;
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./check-body.worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
    });
    worker.unref();
    worker.on('message', (reply: CheckedReply) => {
      this.#waiting.get(reply.id)?.resolve(reply);
      this.#waiting.delete(reply.id);
    });
    worker.on('error', (err) => this.#logger.error({ err }, 'the thread that checks large bodies failed'));
    worker.once('exit', () => {
      this.#worker = null;
      const lost = new ServiceError('service_unavailable', 'The body could not be checked. Retry later.', {
        retryAfterS: 1,
      });
      for (const { reject } of this.#waiting.values()) reject(lost);
      this.#waiting.clear();
    });
    return worker;
  }
}

/** Copies bytes that share their memory with others. */
function ownMemory(body: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = body;
  if (buffer instanceof ArrayBuffer && byteOffset === 0 && buffer.byteLength >= INLINE_BODY_BYTES_MAX)
    return new Uint8Array(buffer, 0, byteLength);
  return new Uint8Array(body);
}

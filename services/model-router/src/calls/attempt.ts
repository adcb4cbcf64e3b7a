// One attempt of a call at one upstream: holds its cost, runs the exchange, passes the answer on, classifies a failure.
import { ServiceError } from '@switchyard/contracts';
import type { HeldPlaces } from '@switchyard/service';
import type { StreamedAnswer } from '../answers/streamed-answer.ts';
import { unstreamed } from '../answers/whole-answer.ts';
import { type Failure, faultOf, redacted } from '../makers/failure.ts';
import type { Maker } from '../makers/maker.ts';
import { FREE } from '../spending/pricing.ts';
import type { AttemptContext } from './call-context.ts';
import type { Candidate, Outcome } from './call-record.ts';
import type { Pass } from './circuits.ts';
import { type Received, runExchange } from './exchange.ts';
import { toServiceError } from './failed-call.ts';
import type { ModelRequest } from './model-request.ts';

/** With less time left, a new attempt is not worth starting. */
export const ATTEMPT_WORTH_MS = 100;
/** A download waits for its memory with an open response, whose deadline is 30 s (libs/egress). */
const DOWNLOAD_WAIT_MS_MAX = 20_000;

export class Attempt {
  readonly candidate: Candidate;
  readonly #request: ModelRequest;
  readonly #context: AttemptContext;
  readonly #startedAt: number;
  #streamed: StreamedAnswer | null = null;
  /** The upstream was asked, so a failure is its own. */
  #asked = false;
  /** The upstream has the request and bills it. */
  #accepted = false;
  /** Memory for what the adapter downloads. */
  readonly #held: HeldPlaces[] = [];
  #noMemory: ServiceError | null = null;
  #isOver = false;

  constructor(candidate: Candidate, request: ModelRequest, context: AttemptContext) {
    this.candidate = candidate;
    this.#request = request;
    this.#context = context;
    this.#startedAt = context.clock.monotonic();
  }

  /**
   * @param outputTokensMax the output tokens that the caller's budget covers, if it is not enough for the whole answer
   * @returns null when the call has ended; otherwise the failure, and another attempt may follow
   * @throws ServiceError when no memory was free for what the adapter downloads
   */
  async run(pass: Pass, outputTokensMax: number | undefined): Promise<Failure | null> {
    try {
      this.#streamed = this.#request.streamedAnswer(this.candidate.model, this.candidate.upstream);
      this.#answer(await this.#exchange(outputTokensMax));
      pass.answered();
      return null;
    } catch (error) {
      return this.#fail(error, pass);
    } finally {
      this.#isOver = true;
      for (const held of this.#held) held.release();
    }
  }

  /** Cost of the attempt so far: its output, otherwise its input; null when the upstream does not bill it. */
  billed(): Pick<Outcome, 'price' | 'basis'> | null {
    if (!this.#accepted) return null;
    if (this.#streamed && this.#context.record.firstByteMs !== null) return this.#streamed.produced();
    return { price: this.#request.accepted(this.candidate.model), basis: 'estimated' };
  }

  async #reserve(bytes: number, signal: AbortSignal): Promise<HeldPlaces> {
    const { largeBodies, head, bodyMemory } = this.#context;
    const held = this.#held.reduce((sum, one) => sum + one.amount, bodyMemory);
    try {
      const options = { org: head.org, signal, held, waitMsMax: DOWNLOAD_WAIT_MS_MAX };
      const more = await largeBodies.take(bytes, options);
      if (this.#isOver) more.release();
      else this.#held.push(more);
      return more;
    } catch (error) {
      if (error instanceof ServiceError) this.#noMemory = error;
      throw error;
    }
  }

  #exchange(outputTokensMax: number | undefined): Promise<Received> {
    const { model, upstream } = this.candidate;
    const { makers, type, call, head, record, reply } = this.#context;
    const streamed = this.#streamed;
    return runExchange({
      maker: makers[upstream.adapter] as Maker,
      request: {
        type,
        upstream,
        ...this.#request.toUpstream(model, upstream, outputTokensMax),
        stream: streamed !== null,
        requestId: head.request_id,
      },
      signal: call.signal,
      remainingMs: record.remainingMs(),
      reserve: (bytes, closing) => this.#reserve(bytes, closing),
      streams: (contentType) => streamed?.takes(contentType) ?? false,
      onStream: (bytes, contentType) => reply.forward(model, streamed as StreamedAnswer, bytes, contentType),
      drained: () => reply.drained(),
      hasBegun: () => streamed?.forwarded ?? false,
      hasEnded: () => streamed?.ended ?? false,
      onRequest: () => {
        this.#asked = true;
      },
      onAccepted: (accepted) => {
        this.#accepted = accepted;
      },
      onFirstByte: () => {
        record.firstByteMs = record.elapsedMs();
      },
    });
  }

  /** @throws UnusableAnswer, ReportedError */
  #answer({ body, contentType }: Received): void {
    const { model } = this.candidate;
    const { reply } = this.#context;
    const streamed = this.#streamed;
    if (body !== null && streamed !== null) throw unstreamed(body, contentType);
    if (body === null) {
      const end = (streamed as StreamedAnswer).finish();
      this.#record(200, null);
      reply.endStream(model, streamed as StreamedAnswer, contentType, end);
    } else {
      const finished = this.#request.finish(model, body, this.candidate.upstream);
      this.#record(200, null);
      reply.endWhole(model, finished);
    }
  }

  #fail(error: unknown, pass: Pass): Failure | null {
    const { call, record, reply, budget, keys } = this.#context;
    const { model } = this.candidate;
    const streamed = this.#streamed;
    if (call.isCancelled) {
      pass.abandoned();
      return null;
    }
    if (this.#noMemory !== null && error === this.#noMemory) {
      pass.abandoned();
      this.#record(null, this.#noMemory.message);
      throw error;
    }
    const exceeded = budget?.exceeded;
    if (exceeded && error === exceeded && streamed) {
      pass.answered();
      this.#record(200, exceeded.message);
      reply.breakOff(model, streamed, exceeded, streamed.produced());
      return null;
    }
    const failure = redacted(faultOf(error), keys.redactKeys);
    const isLate = failure.kind === 'timeout' && record.remainingMs() < ATTEMPT_WORTH_MS;
    if (isLate || !this.#asked) pass.abandoned();
    else pass.failed(failure);
    this.#record(failure.status, failure.message);
    this.#log(error, failure);
    if (streamed?.forwarded) {
      // No fallback is possible after the first byte: the stream ends visibly unfinished, and costs nothing.
      reply.breakOff(model, streamed, toServiceError([failure], {}), { price: FREE, basis: null });
      return null;
    }
    // The output of this attempt is discarded and not charged.
    this.#accepted = false;
    record.firstByteMs = null;
    return failure;
  }

  #record(status: number | null, error: string | null): void {
    this.#context.record.attempted(this.candidate, this.#startedAt, status, error);
  }

  /** Errors of provider packages hold the request and the answer, so an error is never logged as a whole. */
  #described(error: unknown): string {
    return this.#context.keys.redactKeys(String(error instanceof Error ? error.stack : error));
  }

  #log(error: unknown, { said }: Failure): void {
    const { logger, head } = this.#context;
    const about = { error: this.#described(error), model: this.candidate.model.id, request: head.request_id };
    if (said === undefined) logger.debug(about, 'an attempt failed');
    else logger.warn({ ...about, said }, "an upstream's error names our account");
  }
}

// Lets requests begin at the pace at which this process and the services behind it can serve them, and no org before
// its turn. A few requests begin in each turn of the event loop, so that the work of running requests comes between;
// and a bounded number of model calls is open.
import type { ServiceError } from '@switchyard/contracts';
import { type Clock, showCounter, showGauge } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { clientDisconnected, hasLeft, whenOver } from '../http/request-over.ts';
import { callerOf } from '../http/route.ts';
import { FairQueue } from './fair-queue.ts';

/** Requests that begin in one turn of the event loop. */
const STARTS_PER_TURN_MAX = 16;
/** Maximum share of the open calls for one org: calls may last for minutes, and others need not wait for them. */
const ORG_CALLS_SHARE_MAX = 3 / 4;

interface AdmissionQueueDeps {
  /** Model calls that may be open at once. */
  readonly callsMax: number;
  readonly clock: Clock;
  readonly metrics: Registry;
}

export class AdmissionQueue {
  readonly #starts: FairQueue;
  readonly #calls: FairQueue;
  /** The org of each request that began in this turn. */
  #begunInTurn: string[] = [];

  constructor({ callsMax, clock, metrics }: AdmissionQueueDeps) {
    this.#starts = new FairQueue({ slots: STARTS_PER_TURN_MAX, clock });
    this.#calls = new FairQueue({
      slots: callsMax,
      slotsPerOrg: Math.ceil(callsMax * ORG_CALLS_SHARE_MAX),
      clock,
    });
    gauges(metrics, [this.#starts, this.#calls]);
  }

  /** Calls `done` when the request may begin, or with `overloaded`. */
  begin(request: FastifyRequest, done: (refused?: ServiceError) => void): void {
    const { org } = callerOf(request);
    this.#starts.enter(org, (refused) => {
      if (!refused) this.#begins(org);
      done(refused);
    });
  }

  /**
   * Calls `done` when the model call may be open, until it is over. Calls it with `overloaded`, or with the error of a
   * client that left while its call waited: then no maker is called for it.
   */
  openCall(request: FastifyRequest, reply: FastifyReply, done: (refused?: ServiceError) => void): void {
    const { org } = callerOf(request);
    this.#calls.enter(org, (refused) => {
      if (refused) return done(refused);
      whenOver(request, reply, () => this.#calls.leave(org));
      done(hasLeft(request, reply) ? clientDisconnected() : undefined);
    });
  }

  /** Frees the slot of the start in the next turn. */
  #begins(org: string): void {
    this.#begunInTurn.push(org);
    if (this.#begunInTurn.length > 1) return;
    setImmediate(() => {
      const begun = this.#begunInTurn;
      this.#begunInTurn = [];
      this.#starts.leave(...begun);
    });
  }
}

function gauges(metrics: Registry, queues: readonly FairQueue[]): void {
  const sum = (of: (queue: FairQueue) => number) => queues.reduce((all, queue) => all + of(queue), 0);
  showGauge(metrics, 'switchyard_edge_requests_waiting', 'Requests that wait to begin', () =>
    sum(({ waiting }) => waiting),
  );
  showCounter(metrics, 'switchyard_edge_requests_shed_total', 'Requests refused with `overloaded`', () =>
    sum(({ refused }) => refused),
  );
}

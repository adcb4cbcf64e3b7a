// Lets requests begin at the pace at which this process and the services behind it can serve them, and no org before
// its turn. A few requests begin in each turn of the event loop, so that the work of running requests comes between;
// and a bounded number of model calls is open.
import type { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Gauge, type Registry } from 'prom-client';
import { whenOver } from '../http/request-over.ts';
import { callerOf } from '../http/route.ts';
import { FairQueue } from './fair-queue.ts';

/** Requests that begin in one turn of the event loop. */
const STARTS_PER_TURN_MAX = 16;

export interface AdmissionQueueDeps {
  /** Model calls that may be open at once. */
  readonly callsMax: number;
  readonly clock: Clock;
  readonly metrics: Registry;
}

export class AdmissionQueue {
  readonly #starts: FairQueue;
  readonly #calls: FairQueue;
  #begunInTurn = 0;

  constructor({ callsMax, clock, metrics }: AdmissionQueueDeps) {
    this.#starts = new FairQueue({ slots: STARTS_PER_TURN_MAX, clock });
    this.#calls = new FairQueue({ slots: callsMax, clock });
    gauges(metrics, [this.#starts, this.#calls]);
  }

  /** Calls `done` when the request may begin, or with `overloaded`. */
  begin(request: FastifyRequest, done: (refused?: ServiceError) => void): void {
    this.#starts.enter(callerOf(request).org, (refused) => {
      if (!refused) this.#begins();
      done(refused);
    });
  }

  /** Calls `done` when the model call may be open, until it is over; or with `overloaded`. */
  openCall(request: FastifyRequest, reply: FastifyReply, done: (refused?: ServiceError) => void): void {
    this.#calls.enter(callerOf(request).org, (refused) => {
      if (!refused) whenOver(request, reply, () => this.#calls.leave());
      done(refused);
    });
  }

  /** The slot of a start is free in the next turn. */
  #begins(): void {
    this.#begunInTurn += 1;
    if (this.#begunInTurn > 1) return;
    setImmediate(() => {
      const begun = this.#begunInTurn;
      this.#begunInTurn = 0;
      this.#starts.leave(begun);
    });
  }
}

function gauges(metrics: Registry, queues: readonly FairQueue[]): void {
  const sum = (of: (queue: FairQueue) => number) => queues.reduce((all, queue) => all + of(queue), 0);
  const registers = [metrics];
  new Gauge({
    ...{ name: 'switchyard_edge_requests_waiting', help: 'Requests that wait to begin', registers },
    collect() {
      this.set(sum(({ waiting }) => waiting));
    },
  });
  new Counter({
    ...{ name: 'switchyard_edge_requests_shed_total', help: 'Requests refused with `overloaded`', registers },
    collect() {
      this.reset();
      this.inc(sum(({ refused }) => refused));
    },
  });
}

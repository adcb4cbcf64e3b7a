// Which upstreams are worth asking just now. One that failed several times in a row is left alone for a while (its
// circuit is open), then asked by one call, whose answer closes the circuit again. One that named a time to come back
// (`Retry-After`) rests until then. In the memory of one router: each instance makes its own experience.
import type { Upstream } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Failure } from './failure.ts';

/** Failures in a row, none older than the window, that open a circuit; an answer between them begins the count anew. */
export const FAILURES_TO_OPEN = 5;
export const FAILURE_WINDOW_MS = 30_000;
/** How long an open circuit keeps calls away before one of them tries. */
export const OPEN_MS = 15_000;
/** A longer `Retry-After` is not waited for: neither by an upstream that rests, nor by a call that has no other. */
export const RETRY_AFTER_MS_MAX = 30_000;

export const CIRCUIT_STATES = ['closed', 'resting', 'half_open', 'open'] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];

/** Leave for one attempt, which ends in one of three ways. */
export interface Pass {
  answered(): void;
  failed(failure: Failure): void;
  /** It ended by no doing of the upstream's: the caller went away, the call's time was up. */
  abandoned(): void;
}

export interface Skip {
  state: Exclude<CircuitState, 'closed'>;
  /** Milliseconds after which the upstream may be asked again; 0 while another call is trying it. */
  backInMs: number;
  /** For the log. */
  why: string;
}

interface Circuit {
  /** When its last failures in a row were, the oldest first, on the monotonic clock. */
  failedAt: number[];
  lastFailure: string;
  openUntil: number | null;
  /** A call is trying an upstream whose circuit is open. */
  probing: boolean;
  /** `Retry-After`, at most RETRY_AFTER_MS_MAX from then. */
  restsUntil: number | null;
  /** `Retry-After` as it was said. */
  saidUntil: number | null;
}

export class Circuits {
  readonly #clock: Clock;
  /** Those that have failed of late: an upstream without an entry is well. */
  readonly #circuits = new Map<string, Circuit>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Leave to ask the upstream, or why not now. */
  enter(upstream: Upstream): Pass | Skip {
    if (this.#circuits.size === 0) return new OnePass(this, upstream, false);
    const circuit = this.#circuits.get(nameOf(upstream));
    if (!circuit) return new OnePass(this, upstream, false);
    const now = this.#clock.monotonic();
    if (circuit.restsUntil !== null && circuit.restsUntil > now)
      return { state: 'resting', backInMs: circuit.restsUntil - now, why: 'it asked to be left alone' };
    if (circuit.openUntil === null) return new OnePass(this, upstream, false);
    const why = `its circuit is open: ${circuit.lastFailure}`;
    if (circuit.openUntil > now) return { state: 'open', backInMs: circuit.openUntil - now, why };
    if (circuit.probing) return { state: 'half_open', backInMs: 0, why };
    circuit.probing = true;
    return new OnePass(this, upstream, true);
  }

  /** Leave to ask it whatever its state: better than to fail without having asked anybody. */
  force(upstream: Upstream): Pass {
    return new OnePass(this, upstream, false);
  }

  /** Milliseconds until the time that the upstream named itself; null where it named none that is still to come. */
  saidToComeBackInMs(upstream: Upstream): number | null {
    const until = this.#circuits.get(nameOf(upstream))?.saidUntil ?? null;
    const left = until === null ? 0 : until - this.#clock.monotonic();
    return left > 0 ? left : null;
  }

  /** The upstreams that have failed of late, by `nameOf`. */
  states(): Map<string, CircuitState> {
    const now = this.#clock.monotonic();
    return new Map([...this.#circuits].map(([name, circuit]) => [name, stateOf(circuit, now)]));
  }

  answered(upstream: Upstream): void {
    if (this.#circuits.size === 0) return;
    const name = nameOf(upstream);
    const circuit = this.#circuits.get(name);
    if (!circuit) return;
    // One answer says nothing against a rest that was asked for: it may have been on its way already.
    if (stateOf(circuit, this.#clock.monotonic()) !== 'resting') this.#circuits.delete(name);
    else Object.assign(circuit, { failedAt: [], openUntil: null, probing: false });
  }

  failed(upstream: Upstream, failure: Failure, probe: boolean): void {
    if (failure.kind === 'rejected' || failure.kind === 'too_long') return this.answered(upstream);
    if (failure.kind === 'unsupported') return this.abandoned(upstream, probe); // nothing was sent to it
    const now = this.#clock.monotonic();
    const name = nameOf(upstream);
    const circuit = this.#circuits.get(name) ?? newCircuit();
    this.#circuits.set(name, circuit);
    circuit.lastFailure = failure.message;
    if (failure.retryAfterS !== null) {
      circuit.saidUntil = now + failure.retryAfterS * 1000;
      circuit.restsUntil = Math.min(circuit.saidUntil, now + RETRY_AFTER_MS_MAX);
    }
    if (probe) {
      circuit.probing = false;
      circuit.openUntil = failure.retryAfterS === null ? now + OPEN_MS : null; // busy, but there
    } else if (circuit.openUntil === null && failure.retryAfterS === null) {
      circuit.failedAt = [...circuit.failedAt.filter((at) => now - at < FAILURE_WINDOW_MS), now];
      if (circuit.failedAt.length >= FAILURES_TO_OPEN) circuit.openUntil = now + OPEN_MS;
    }
  }

  abandoned(upstream: Upstream, probe: boolean): void {
    const circuit = probe ? this.#circuits.get(nameOf(upstream)) : undefined;
    if (circuit) circuit.probing = false; // the next call tries
  }
}

export function isSkip(entry: Pass | Skip): entry is Skip {
  return 'state' in entry;
}

/** What a circuit belongs to: one model at one address. */
export function nameOf({ adapter, base_url: address, model }: Upstream): string {
  return `${adapter} ${address ?? ''} ${model}`;
}

class OnePass implements Pass {
  readonly #circuits: Circuits;
  readonly #upstream: Upstream;
  readonly #probe: boolean;

  constructor(circuits: Circuits, upstream: Upstream, probe: boolean) {
    this.#circuits = circuits;
    this.#upstream = upstream;
    this.#probe = probe;
  }

  answered(): void {
    this.#circuits.answered(this.#upstream);
  }

  failed(failure: Failure): void {
    this.#circuits.failed(this.#upstream, failure, this.#probe);
  }

  abandoned(): void {
    this.#circuits.abandoned(this.#upstream, this.#probe);
  }
}

function stateOf({ restsUntil, openUntil, probing }: Circuit, now: number): CircuitState {
  if (restsUntil !== null && restsUntil > now) return 'resting';
  if (openUntil === null) return 'closed';
  return openUntil > now && !probing ? 'open' : 'half_open';
}

function newCircuit(): Circuit {
  return {
    failedAt: [],
    lastFailure: '',
    openUntil: null,
    probing: false,
    restsUntil: null,
    saidUntil: null,
  };
}

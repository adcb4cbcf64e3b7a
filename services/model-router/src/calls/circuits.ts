// Tracks which upstreams are worth calling. Repeated failures open the circuit of an upstream: calls skip it for a
// while, then one trial call decides. An upstream that sent `Retry-After` rests until then. The state is in memory, one
// copy per router.
import type { Upstream } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { Failure } from '../makers/failure.ts';

/** Consecutive failures within the window that open a circuit; a success resets the count. */
export const FAILURES_TO_OPEN = 5;
export const FAILURE_WINDOW_MS = 30_000;
/** How long an open circuit blocks calls before one trial call. */
export const OPEN_MS = 15_000;
/** Limit for `Retry-After`, both for resting upstreams and for calls that wait for one. */
export const RETRY_AFTER_MS_MAX = 30_000;

export const CIRCUIT_STATES = ['closed', 'resting', 'half_open', 'open'] as const;
type CircuitState = (typeof CIRCUIT_STATES)[number];

/** Permission for one attempt, which ends in one of three ways. */
export interface Pass {
  answered(): void;
  failed(failure: Failure): void;
  /** The attempt ended for another reason: the caller left, the call timed out, or the upstream was not asked. */
  abandoned(): void;
}

export interface Skip {
  state: Exclude<CircuitState, 'closed'>;
  /** Milliseconds until the upstream may be called again; 0 while a trial call is running. */
  backInMs: number;
  /** Reason for the log. */
  why: string;
}

interface Circuit {
  /** Monotonic times of the last consecutive failures, oldest first. */
  failedAt: number[];
  lastFailure: string;
  openUntil: number | null;
  /** A trial call is running. */
  probing: boolean;
  /** `Retry-After`, limited to RETRY_AFTER_MS_MAX from when it was received. */
  restsUntil: number | null;
  /** `Retry-After` without the limit. */
  retryAfterUntil: number | null;
}

export class Circuits {
  readonly #clock: Clock;
  /** Upstreams that failed recently; an upstream without an entry is healthy. */
  readonly #circuits = new Map<string, Circuit>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Permission to call the upstream, or the reason to skip it. */
  enter(upstream: Upstream): Pass | Skip {
    const circuit = this.#circuits.get(nameOf(upstream));
    if (!circuit) return this.#pass(upstream, false);
    const now = this.#clock.monotonic();
    if (circuit.restsUntil !== null && circuit.restsUntil > now)
      return { state: 'resting', backInMs: circuit.restsUntil - now, why: 'it is rate limited' };
    if (circuit.openUntil === null) return this.#pass(upstream, false);
    const why = `its circuit is open: ${circuit.lastFailure}`;
    if (circuit.openUntil > now) return { state: 'open', backInMs: circuit.openUntil - now, why };
    if (circuit.probing) return { state: 'half_open', backInMs: 0, why };
    circuit.probing = true;
    return this.#pass(upstream, true);
  }

  /** Permission in any state: a call with no other upstream tries one anyway. */
  force(upstream: Upstream): Pass {
    return this.#pass(upstream, false);
  }

  /** Milliseconds until the upstream's own `Retry-After`; null when it sent none that is still ahead. */
  retryAfterLeftMs(upstream: Upstream): number | null {
    const until = this.#circuits.get(nameOf(upstream))?.retryAfterUntil ?? null;
    const left = until === null ? 0 : until - this.#clock.monotonic();
    return left > 0 ? left : null;
  }

  /** The upstreams that failed recently, by `nameOf`. */
  states(): Map<string, CircuitState> {
    const now = this.#clock.monotonic();
    return new Map([...this.#circuits].map(([name, circuit]) => [name, stateOf(circuit, now)]));
  }

  #pass(upstream: Upstream, probe: boolean): Pass {
    return {
      answered: () => this.#answered(upstream),
      failed: (failure) => this.#failed(upstream, failure, probe),
      abandoned: () => this.#abandoned(upstream, probe),
    };
  }

  #answered(upstream: Upstream): void {
    const name = nameOf(upstream);
    const circuit = this.#circuits.get(name);
    if (!circuit) return;
    // A success does not end a requested rest: the answer may have been in flight already.
    if (stateOf(circuit, this.#clock.monotonic()) !== 'resting') this.#circuits.delete(name);
    else Object.assign(circuit, { failedAt: [], openUntil: null, probing: false });
  }

  #failed(upstream: Upstream, failure: Failure, probe: boolean): void {
    if (failure.kind === 'rejected' || failure.kind === 'too_long') return this.#answered(upstream);
    if (failure.kind === 'unsupported') return this.#abandoned(upstream, probe); // nothing was sent to the upstream
    const now = this.#clock.monotonic();
    const name = nameOf(upstream);
    const circuit = this.#circuits.get(name) ?? newCircuit();
    this.#circuits.set(name, circuit);
    circuit.lastFailure = failure.message;
    if (failure.retryAfterS !== null) {
      circuit.retryAfterUntil = now + failure.retryAfterS * 1000;
      circuit.restsUntil = Math.min(circuit.retryAfterUntil, now + RETRY_AFTER_MS_MAX);
    }
    if (probe) {
      circuit.probing = false;
      circuit.openUntil = failure.retryAfterS === null ? now + OPEN_MS : null; // rate limited, but reachable
    } else if (circuit.openUntil === null && failure.retryAfterS === null) {
      circuit.failedAt = [...circuit.failedAt.filter((at) => now - at < FAILURE_WINDOW_MS), now];
      if (circuit.failedAt.length >= FAILURES_TO_OPEN) circuit.openUntil = now + OPEN_MS;
    }
  }

  #abandoned(upstream: Upstream, probe: boolean): void {
    const circuit = probe ? this.#circuits.get(nameOf(upstream)) : undefined;
    if (circuit) circuit.probing = false; // the next call becomes the trial call
  }
}

export function isSkip(entry: Pass | Skip): entry is Skip {
  return 'state' in entry;
}

/** Key of a circuit: one model at one address, called with one of our keys. */
export function nameOf({ adapter, base_url: address, model, api_key_env: key }: Upstream): string {
  return [adapter, address ?? '', model, ...(key === undefined ? [] : [key])].join(' ');
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
    retryAfterUntil: null,
  };
}

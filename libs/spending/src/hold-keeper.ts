// Holds on limited budgets: taken with billing before a call's attempt, a video's charge or a computer's minute,
// renewed while they last, and released when the actual cost is known. Calls without limits hold nothing.
import type { Bus } from '@switchyard/bus';
import { HOLD_RENEW_MS, HOLDS_RENEWED_AT_ONCE_MAX, placeOf } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { askAsHost, askAsService, type HoldAsks } from './hold-asks.ts';

/** Longer than billing lets a call wait for room in its budget. */
const TAKE_TIMEOUT_MS = 14_000;
/** A hold that could not be released expires when it is not renewed. */
const SETTLE_TIMEOUT_MS = 5_000;

interface HeldCall {
  readonly org: string;
  readonly keyId: string;
  /** Also the id of the event that will charge the call. */
  readonly call: string;
}

interface ChargedWork {
  /** The event that will charge it. */
  readonly event: {
    readonly id: string;
    readonly data: { readonly org: string; readonly key_id: string; readonly cost_nano: string };
  };
  readonly limited: boolean | undefined;
  readonly signal: AbortSignal;
}

interface HoldKeeperOptions {
  readonly bus: Bus;
  readonly logger: Logger;
  /** Id of the computer host whose minutes are held. */
  readonly host?: string;
}

export class HoldKeeper {
  readonly #asks: HoldAsks;
  readonly #logger: Logger;
  readonly #holds = new Map<string, CallHold>();
  readonly #renewing: NodeJS.Timeout;

  constructor({ bus, logger, host }: HoldKeeperOptions) {
    this.#asks = host === undefined ? askAsService(bus) : askAsHost(bus, host);
    this.#logger = logger;
    this.#renewing = setInterval(() => this.#renew(), HOLD_RENEW_MS);
  }

  /** A new call, which holds nothing yet. */
  open(call: HeldCall): CallHold {
    return new CallHold(call, {
      asks: this.#asks,
      logger: this.#logger,
      onHeld: (hold) => this.#holds.set(call.call, hold),
      onEnded: () => this.#holds.delete(call.call),
    });
  }

  /**
   * Does work whose event states its exact price, and publishes the event at its end. Meanwhile the price is held, if the
   * org or the key has a limit.
   * @throws ServiceError as `CallHold.take` does, and errors of the work, which release the hold
   */
  async runWithHold<T>({ event, limited, signal }: ChargedWork, work: () => Promise<T>): Promise<T> {
    if (!limited) return work();
    const { org, key_id: keyId, cost_nano } = event.data;
    const price = BigInt(cost_nano);
    const hold = this.open({ org, keyId, call: event.id });
    let spent = 0n;
    try {
      await hold.take(price, true, signal);
      const done = await work();
      spent = price;
      return done;
    } finally {
      hold.settle(spent);
    }
  }

  stop(): void {
    clearInterval(this.#renewing);
  }

  #renew(): void {
    const holds = [...this.#holds.values()].map((hold) => hold.asRenewal());
    for (const [place, there] of Map.groupBy(holds, ({ org }) => placeOf(org)))
      for (let from = 0; from < there.length; from += HOLDS_RENEWED_AT_ONCE_MAX)
        this.#asks
          .renew(place, there.slice(from, from + HOLDS_RENEWED_AT_ONCE_MAX), { timeoutMs: HOLD_RENEW_MS })
          .catch((error: unknown) => this.#logger.debug({ err: error }, 'holds were not renewed; retrying'));
  }
}

interface HoldDeps {
  asks: HoldAsks;
  logger: Logger;
  onHeld(hold: CallHold): void;
  onEnded(): void;
}

/** The hold of one call. */
export class CallHold {
  readonly #call: HeldCall;
  readonly #deps: HoldDeps;
  /** Null: nothing is held; after a take: the call has no limit. */
  #granted: bigint | null = null;
  #capped = false;
  /** A take was cancelled, which billing may have granted just before. */
  #mayHold = false;
  #over = false;

  constructor(call: HeldCall, deps: HoldDeps) {
    this.#call = call;
    this.#deps = deps;
  }

  /** Nano-dollars that the call may cost; null: no limit. */
  get granted(): bigint | null {
    return this.#granted;
  }

  /** True when less than requested was granted; the call must be kept within it. */
  get capped(): boolean {
    return this.#capped;
  }

  /**
   * Holds this amount, replacing the previous hold.
   * @param exact the amount is the price, not an estimate
   * @throws ServiceError `insufficient_funds`, `budget_exceeded`; `service_unavailable` when billing is down.
   */
  async take(amount: bigint, exact: boolean, signal: AbortSignal): Promise<void> {
    const asked = { ...this.#asHeld(amount), exact };
    const options = { timeoutMs: TAKE_TIMEOUT_MS, signal };
    const granted = await this.#deps.asks.take(asked, options).catch((error: unknown) => {
      if (signal.aborted && this.#over) this.#sendSettlement(0n);
      else if (signal.aborted) this.#mayHold = true;
      throw error;
    });
    this.#granted = granted.granted_nano === null ? null : BigInt(granted.granted_nano);
    this.#capped = granted.capped;
    if (this.#granted === null) return;
    if (this.#over) this.#sendSettlement(0n);
    else this.#deps.onHeld(this);
  }

  /** The call has ended and cost this much; the rest of the hold is released. */
  settle(cost: bigint): void {
    if (this.#over) return;
    this.#over = true;
    this.#deps.onEnded();
    if (this.#granted !== null || this.#mayHold) this.#sendSettlement(cost);
  }

  asRenewal() {
    return this.#asHeld(this.#granted ?? 0n);
  }

  #asHeld(amount: bigint) {
    const { org, keyId, call } = this.#call;
    return { org, key_id: keyId, call, amount_nano: amount.toString() };
  }

  #sendSettlement(cost: bigint): void {
    const { org, call } = this.#call;
    const settled = { org, call, cost_nano: cost.toString() };
    this.#deps.asks
      .settle(settled, { timeoutMs: SETTLE_TIMEOUT_MS })
      .catch((error: unknown) =>
        this.#deps.logger.debug({ err: error, request: call }, 'a hold was not released; it will expire'),
      );
  }
}

// Whether usage can be stored. Closed when a usage event could not be stored: the upstream would be paid for answers
// that cannot be delivered. Once JetStream answers again, one call at a time is let in, because a stream may answer
// and still store nothing (nats-server after a full disk, until its restart). The first stored event opens the gate.

import type { JetStreamManager } from '@nats-io/jetstream';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { Logger } from './bus.ts';
import { STORE_TRIAL_EVERY_MS } from './limits.ts';

const PROBE_PAUSE_MS = 500;

type State = 'open' | 'closed' | 'on_trial';

export class StoreGate {
  readonly #jsm: JetStreamManager;
  readonly #logger: Logger;
  #state: State = 'open';
  /** The next moment at which one call may try, by `performance.now()`. */
  #trialAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(jsm: JetStreamManager, logger: Logger) {
    this.#jsm = jsm;
    this.#logger = logger;
  }

  /** Whether `admit` would let a call begin now. */
  get admits(): boolean {
    return this.#state === 'open' || (this.#state === 'on_trial' && performance.now() >= this.#trialAt);
  }

  /** Whether this call may begin. While the gate is on trial, true once per `STORE_TRIAL_EVERY_MS`. */
  admit(): boolean {
    if (!this.admits) return false;
    if (this.#state === 'on_trial') this.#trialAt = performance.now() + STORE_TRIAL_EVERY_MS;
    return true;
  }

  /** A usage event was stored. */
  stored(): void {
    if (this.#state === 'open') return;
    this.close();
    this.#state = 'open';
    this.#trialAt = 0;
    this.#logger.info({}, 'usage can be stored again');
  }

  /** A usage event was not stored in time. */
  shut(): void {
    if (this.#state === 'closed') return;
    this.#logger.error(
      { alarm: 'usage_not_stored' },
      'usage cannot be stored; no further calls are taken until it can',
    );
    this.#state = 'closed';
    this.#probeSoon();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #probeSoon(): void {
    this.#timer = setTimeout(() => void this.#probe(), PROBE_PAUSE_MS);
  }

  async #probe(): Promise<void> {
    try {
      await this.#jsm.streams.info(EVENTS_STREAM);
      if (this.#state === 'closed') this.#state = 'on_trial';
    } catch {
      if (this.#state === 'closed') this.#probeSoon();
    }
  }
}

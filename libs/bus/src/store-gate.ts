// Whether usage can be stored: shut when a call's usage event found no JetStream, open again when JetStream answers.
// While it is shut nothing billable is begun: its upstream would be paid for answers that nobody may be given.

import type { JetStreamManager } from '@nats-io/jetstream';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { Logger } from './bus.ts';

const PROBE_PAUSE_MS = 500;

export class StoreGate {
  readonly #jsm: JetStreamManager;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | null = null;

  constructor(jsm: JetStreamManager, logger: Logger) {
    this.#jsm = jsm;
    this.#logger = logger;
  }

  get isOpen(): boolean {
    return this.#timer === null;
  }

  /** A usage event was not stored within its time. */
  shut(): void {
    if (this.#timer !== null) return;
    this.#logger.error(
      { alarm: 'usage_not_stored' },
      'usage cannot be stored; no further calls are taken until it can',
    );
    this.#probeSoon();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #probeSoon(): void {
    this.#timer = setTimeout(() => void this.#probe(), PROBE_PAUSE_MS);
  }

  async #probe(): Promise<void> {
    try {
      await this.#jsm.streams.info(EVENTS_STREAM);
      this.#timer = null;
      this.#logger.info({}, 'usage can be stored again');
    } catch {
      this.#probeSoon();
    }
  }
}

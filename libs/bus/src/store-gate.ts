// Whether usage can be stored: closed when a usage event could not be stored, open again when JetStream answers. While
// it is closed, no billable work starts: the upstream would be paid for answers that cannot be delivered.

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

  /** A usage event was not stored in time. */
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

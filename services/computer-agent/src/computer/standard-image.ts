// Gets the standard image ready in the background and says how far it is: computers wait for it, nothing else does.
import { setTimeout as delay } from 'node:timers/promises';
import type { ImageStatus } from './computer-host.ts';
import type { HostLogger } from './logger.ts';

const RETRY_DELAY_MS = 30_000;

export interface StandardImage {
  /** Its name and tag. */
  readonly name: string;
  /** Builds it if it is not there; `report` takes progress in words. Safe to repeat. */
  readonly ensure: (report: (message: string) => void, signal: AbortSignal) => Promise<void>;
}

export interface StandardImageWatch {
  /** Once. */
  start(): void;
  status(): ImageStatus;
  /** Resolves when `ensure` and `then` have succeeded; never before. */
  readonly ready: Promise<void>;
  close(): Promise<void>;
}

/** `then` is what else must be there before computers can be: it is part of what is tried again. */
export function prepareStandardImage(
  image: StandardImage,
  then: () => Promise<void>,
  logger: HostLogger,
): StandardImageWatch {
  const closing = new AbortController();
  const ready = Promise.withResolvers<void>();
  let status: ImageStatus = { ready: false, message: 'the standard computer image is being looked for' };

  const attempt = async () => {
    await image.ensure((message) => {
      status = { ready: false, message };
    }, closing.signal);
    status = { ready: false, message: 'the standard computer image is there; the host is being prepared' };
    await then();
    status = { ready: true };
    ready.resolve();
  };
  const keepTrying = async () => {
    while (!closing.signal.aborted && !status.ready) {
      try {
        await attempt();
      } catch (error) {
        if (closing.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        logger.warn({ err: error }, 'the host cannot run computers yet');
        status = { ready: false, message: `computers are not ready: ${reason}; trying again every 30 s` };
        await delay(RETRY_DELAY_MS, undefined, { signal: closing.signal }).catch(() => {});
      }
    }
  };
  let trying: Promise<void> = Promise.resolve();

  return {
    start() {
      trying = keepTrying();
    },
    status: () => status,
    ready: ready.promise,
    async close() {
      closing.abort();
      await trying;
    },
  };
}

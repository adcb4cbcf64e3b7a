// Opens the network of an agent's computers once and keeps it. The firewall does not wait for an image, and is
// retried until it is in place.
import type { HostLogger } from '../computer/logger.ts';
import type { ComputerNetwork } from './network.ts';

const RETRY_MS = 30_000;

export interface NetworkKeeper {
  /** Keeps the network and its firewall in place from now on. Returns at once. */
  guard(): void;
  /** The network, opened if needed. @throws the reason for a failure; the next call tries again */
  opened(): Promise<ComputerNetwork>;
  /** Does nothing if the network was never opened. */
  close(): Promise<void>;
}

export function keepNetwork(
  open: () => Promise<ComputerNetwork>,
  logger: HostLogger,
  retryMs = RETRY_MS,
): NetworkKeeper {
  let network: Promise<ComputerNetwork> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  const opened = (): Promise<ComputerNetwork> => {
    network ??= open().catch((error: unknown) => {
      network = undefined;
      throw error;
    });
    return network;
  };
  const guard = () => {
    opened().catch((error: unknown) => {
      logger.warn({ err: error }, 'Network of computers not created; trying again');
      clearTimeout(retry);
      if (!closed) retry = setTimeout(guard, retryMs).unref();
    });
  };
  return {
    guard,
    opened,
    async close() {
      closed = true;
      clearTimeout(retry);
      await network?.then((one) => one.close());
    },
  };
}

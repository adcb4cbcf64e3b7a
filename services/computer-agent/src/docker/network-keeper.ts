// The network of an agent's computers, opened once and kept: its walls wait for no image, and are tried again until they
// stand.
import type { HostLogger } from '../computer/logger.ts';
import type { ComputerNetwork } from './network.ts';

const RETRY_MS = 30_000;

export interface NetworkKeeper {
  /** Sees to it that the network is there and its walls stand, from now on. Waits for nothing. */
  guard(): void;
  /** The network, opened if it is not. @throws what kept it from being opened; whoever asks next tries again */
  opened(): Promise<ComputerNetwork>;
  /** Nothing happens where it was never opened. */
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
      logger.warn({ err: error }, 'computers have no network and no walls yet; it is tried again');
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

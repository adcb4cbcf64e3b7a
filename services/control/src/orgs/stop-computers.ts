import { requestHost } from '@switchyard/bus';
import type { ComputerRecord } from '@switchyard/contracts';
import type { ComputerOperations } from '../computers/computer-operations.ts';

/** Covers ending the processes of a computer. */
const STOP_TIMEOUT_MS = 60_000;

/**
 * Stops the running computers of an org, except on silent hosts, which would delay the sweep until the timeout. A host
 * that does not answer is asked again by the next sweep.
 */
export async function stopComputersOf(
  { bus, records, hosts, logger }: Pick<ComputerOperations, 'bus' | 'records' | 'hosts' | 'logger'>,
  org: string,
): Promise<void> {
  const running = (await records.ofOrg(org)).filter(
    ({ state, host }) => state === 'running' && !hosts.isSilent(host),
  );
  const stop = ({ host, id }: ComputerRecord) =>
    requestHost(bus, host, 'stop', { org, id }, { timeoutMs: STOP_TIMEOUT_MS }).catch((error: unknown) =>
      logger.warn({ err: error, computer: id }, 'a computer of a suspended org was not stopped yet'),
    );
  await Promise.all(running.map(stop));
}

// Finds the host of a computer, where control placed it; every route of a computer calls this first. A computer never
// changes its host, so the store is read once. The host knows whether the computer still exists.
import type { Bucket, Mirror } from '@switchyard/bus';
import {
  type ComputerPlacement,
  type ComputerRecord,
  HOST_SILENT_MS_MAX,
  type HostHeartbeat,
  ID_PATTERN,
  placementKey,
  recordKey,
  ServiceError,
} from '@switchyard/contracts';
import { remember } from '@switchyard/service';

/** Computers whose host is cached; one takes about 100 bytes. */
const REMEMBERED_MAX = 20_000;

interface FindHostOptions {
  readonly placements: Pick<Bucket<ComputerPlacement>, 'get'>;
  readonly computers: Pick<Bucket<ComputerRecord>, 'get'>;
  /** False when this installation has no Docker engine. */
  readonly enabled: boolean;
  readonly hosts: Pick<Bucket<HostHeartbeat>, 'get'>;
  /** Mirror of `hosts` in memory, which may lag a little. */
  readonly beats: Pick<Mirror<HostHeartbeat>, 'ageMs' | 'peek'>;
}

/**
 * @param options.recheck reads the record again: for an answer without the host, which knows whether the computer exists
 * @throws ServiceError `no_capacity`; `computer_not_found`, also for a computer of another org; `service_unavailable`
 *   when the host is silent, since asking it would only run into a timeout.
 */
export type FindHost = (org: string, id: string, options?: { readonly recheck?: boolean }) => Promise<string>;

export function hostFinder({ placements, computers, enabled, hosts, beats }: FindHostOptions): FindHost {
  const remembered = new Map<string, string>();
  const isSilent = (host: string) => beats.ageMs(host) > HOST_SILENT_MS_MAX;
  /** Whether the bucket has a heartbeat that is not in memory. It drops those of silent hosts. */
  const hasNewerBeat = async (host: string) => {
    const last = await hosts.get(host);
    return last !== null && last.value.at !== beats.peek(host)?.at;
  };
  return async (org, id, { recheck = false } = {}) => {
    requireComputers(enabled);
    const key = placementKey(org, id);
    const known = remembered.get(key);
    // A computer of a silent host may have been deleted, so its record is read again.
    if (known !== undefined && !recheck && !isSilent(known)) return known;
    const placement = ID_PATTERN.test(id) ? await placements.get(key) : null;
    const entry = placement && (await computers.get(recordKey(placement.value)));
    if (!placement || !entry)
      throw new ServiceError(
        'computer_not_found',
        `Computer not found: ${id}. GET /v1/computers lists your computers.`,
      );
    const { host } = placement.value;
    const { state } = entry.value;
    // A host may still refuse a computer in creation, which then goes to another host.
    if (state !== 'creating') remember(remembered, key, host, REMEMBERED_MAX);
    if (isSilent(host) && !(await hasNewerBeat(host)))
      throw new ServiceError(
        'service_unavailable',
        `Computer ${id} is unreachable because its host is silent. Retry later.`,
      );
    return host;
  };
}

/** @throws ServiceError `no_capacity`. */
export function requireComputers(enabled: boolean): void {
  if (!enabled)
    throw new ServiceError(
      'no_capacity',
      'Computers are off here because no Docker engine is connected (SWITCHYARD_COMPUTERS).',
    );
}

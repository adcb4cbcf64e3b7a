// Which host has a computer: what every route of one computer asks first. A computer stays on its host for life, so the
// store is asked once; whether it is still there its host knows.
import type { Bucket } from '@switchyard/bus';
import {
  type ComputerRecord,
  computerKey,
  type HostHeartbeat,
  ID_PATTERN,
  isHostSilent,
  ServiceError,
} from '@switchyard/contracts';
import { type Clock, remember } from '@switchyard/service';

/** Computers whose host is remembered, those that were found last: one is some 100 bytes. */
const REMEMBERED_MAX = 20_000;

export interface FindHostOptions {
  readonly computers: Pick<Bucket<ComputerRecord>, 'get'>;
  /** False: this installation has no Docker engine. */
  readonly enabled: boolean;
  readonly hosts: Pick<Bucket<HostHeartbeat>, 'get'>;
  /** The same in memory, which may be a little behind. */
  readonly beats: { peek(hostId: string): HostHeartbeat | null };
  readonly clock: Clock;
}

/**
 * @throws ServiceError `no_capacity`, `computer_not_found`: another org's is as unknown as one that never was;
 *   `service_unavailable`: its host is silent, and asking it would only take long to find that out.
 */
export type FindHost = (org: string, id: string) => Promise<string>;

export function hostFinder({ computers, enabled, hosts, beats, clock }: FindHostOptions): FindHost {
  const remembered = new Map<string, string>();
  const silent = (beat: HostHeartbeat | null) => isHostSilent(beat, clock.now());
  return async (org, id) => {
    requireComputers(enabled);
    const key = computerKey(org, id);
    const known = remembered.get(key);
    // Of a silent host the computer may have been given up: then it is as unknown as any that is deleted.
    if (known !== undefined && !silent(beats.peek(known))) return known;
    const entry = ID_PATTERN.test(id) ? await computers.get(key) : null;
    if (!entry) throw new ServiceError('computer_not_found', `there is no computer ${id}`);
    const { host, state } = entry.value;
    // One that is being created may yet be refused there, and go to another host.
    if (state !== 'creating') remember(remembered, key, host, REMEMBERED_MAX);
    if (silent(beats.peek(host)) && silent((await hosts.get(host))?.value ?? null))
      throw new ServiceError(
        'service_unavailable',
        `the computer ${id} is unreachable: its host is not heard`,
      );
    return host;
  };
}

/** @throws ServiceError `no_capacity`. */
export function requireComputers(enabled: boolean): void {
  if (!enabled)
    throw new ServiceError(
      'no_capacity',
      'computers are off here: no Docker engine is connected (SWITCHYARD_COMPUTERS)',
    );
}

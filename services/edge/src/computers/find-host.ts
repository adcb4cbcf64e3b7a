// Which host has a computer: what every route of one computer asks first.
import type { Bucket } from '@switchyard/bus';
import {
  type ComputerRecord,
  computerKey,
  type HostHeartbeat,
  ID_PATTERN,
  isHostSilent,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export interface FindHostOptions {
  readonly computers: Bucket<ComputerRecord>;
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
  return async (org, id) => {
    requireComputers(enabled);
    const entry = ID_PATTERN.test(id) ? await computers.get(computerKey(org, id)) : null;
    if (!entry) throw new ServiceError('computer_not_found', `there is no computer ${id}`);
    const { host } = entry.value;
    const silent = (beat: HostHeartbeat | null) => isHostSilent(beat, clock.now());
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

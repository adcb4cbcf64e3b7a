// Which host has a computer: what every route of one computer asks first.
import type { Bucket } from '@switchyard/bus';
import { type ComputerRecord, computerKey, ID_PATTERN, ServiceError } from '@switchyard/contracts';

export interface FindHostOptions {
  readonly computers: Bucket<ComputerRecord>;
  /** False: this installation has no Docker engine. */
  readonly enabled: boolean;
}

/** @throws ServiceError `no_capacity`, `computer_not_found`: another org's is as unknown as one that never was. */
export type FindHost = (org: string, id: string) => Promise<string>;

export function hostFinder({ computers, enabled }: FindHostOptions): FindHost {
  return async (org, id) => {
    requireComputers(enabled);
    const entry = ID_PATTERN.test(id) ? await computers.get(computerKey(org, id)) : null;
    if (!entry) throw new ServiceError('computer_not_found', `there is no computer ${id}`);
    return entry.value.host;
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

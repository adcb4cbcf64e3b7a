// Which hosts to ask for a new computer, and in which order: the less loaded of two taken at random, again and again.
// That spreads load nearly as well as asking all, and a herd of creates does not fall on one host. The host decides.
import { type HostHeartbeat, ServiceError, STANDARD_IMAGE } from '@switchyard/contracts';

export interface Wanted {
  readonly image: string;
  readonly cpu: number;
  readonly memoryMb: number;
}

/**
 * The hosts in the order in which they are asked.
 * @param random a number from 0 up to, but not including, 1
 * @throws ServiceError `no_capacity` saying why there is none.
 */
export function placementOrder(
  hosts: readonly HostHeartbeat[],
  wanted: Wanted,
  random: () => number,
): HostHeartbeat[] {
  if (hosts.length === 0) throw new ServiceError('no_capacity', 'no computer host is connected');
  const prepared = hosts.filter((host) => host.image_ready);
  if (prepared.length === 0) {
    const progress = hosts.find((host) => host.image_progress !== null)?.image_progress;
    throw new ServiceError(
      'no_capacity',
      `the computer image ${STANDARD_IMAGE} is not ready yet: ${progress ?? 'it is being built'}`,
    );
  }
  const roomy = prepared.filter(hasDiskRoom);
  if (roomy.length === 0)
    throw new ServiceError(
      'no_capacity',
      'the disk of every computer host is nearly full (SWITCHYARD_HOST_DISK_GB_FREE_MIN)',
    );
  const left = roomy.filter((host) => fits(host, wanted));
  if (left.length === 0)
    throw new ServiceError('no_capacity', 'every computer host is full; try again later');
  const order: HostHeartbeat[] = [];
  while (left.length > 0) {
    const [chosen] = left.splice(lessLoadedOfTwo(left, random), 1);
    order.push(chosen!);
  }
  return order;
}

/** A host that does not say how full its disk is will refuse by itself, if it can tell. */
function hasDiskRoom({ disk_mb_free: free, disk_mb_free_min: least }: HostHeartbeat): boolean {
  return free === null || least === null || free >= least;
}

function fits(host: HostHeartbeat, { cpu, memoryMb }: Wanted): boolean {
  return host.cpu_used + cpu <= host.cpu_total && host.memory_mb_used + memoryMb <= host.memory_mb_total;
}

function lessLoadedOfTwo(hosts: readonly HostHeartbeat[], random: () => number): number {
  const first = Math.floor(random() * hosts.length);
  if (hosts.length === 1) return first;
  const other = (first + 1 + Math.floor(random() * (hosts.length - 1))) % hosts.length;
  return load(hosts[first]!) <= load(hosts[other]!) ? first : other;
}

/** The share of whatever is scarcest. */
function load(host: HostHeartbeat): number {
  return Math.max(host.cpu_used / host.cpu_total, host.memory_mb_used / host.memory_mb_total);
}

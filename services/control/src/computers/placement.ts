// Orders the hosts for a new computer: picks two at random and takes the less loaded, repeatedly. This spreads load
// nearly as well as comparing all hosts, and many creates at once do not hit one host. The host makes the final
// decision.
import { type ComputerSpec, type HostHeartbeat, ServiceError, STANDARD_IMAGE } from '@switchyard/contracts';

type Size = Pick<ComputerSpec, 'cpu' | 'memory_mb'>;

/**
 * Returns the hosts in the order in which to ask them.
 * @param random a number from 0 up to, but not including, 1
 * @throws ServiceError `no_capacity` with the reason
 */
export function placementOrder(
  hosts: readonly HostHeartbeat[],
  size: Size,
  random: () => number,
): HostHeartbeat[] {
  if (hosts.length === 0)
    throw new ServiceError('no_capacity', 'No computer host is connected. Retry later.');
  const prepared = hosts.filter((host) => host.image_ready);
  if (prepared.length === 0) {
    const progress = hosts.find((host) => host.image_progress !== null)?.image_progress;
    throw new ServiceError(
      'no_capacity',
      `Image ${STANDARD_IMAGE} is not ready: ${progress ?? 'it is being built'}. Retry later.`,
    );
  }
  const safe = prepared.filter((host) => host.refuses === null);
  if (safe.length === 0) throw new ServiceError('no_capacity', prepared[0]!.refuses!);
  const roomy = safe.filter(hasDiskRoom);
  if (roomy.length === 0)
    throw new ServiceError(
      'no_capacity',
      'The disk of every computer host is nearly full (SWITCHYARD_HOST_DISK_GB_FREE_MIN). Retry later.',
    );
  const left = roomy.filter((host) => fits(host, size));
  if (left.length === 0) throw new ServiceError('no_capacity', 'Every computer host is full. Retry later.');
  const order: HostHeartbeat[] = [];
  while (left.length > 0) {
    const [chosen] = left.splice(lessLoadedOfTwo(left, random), 1);
    order.push(chosen!);
  }
  return order;
}

/** A host that does not report its free disk space stays a candidate; it refuses by itself if it can tell. */
function hasDiskRoom({ disk_mb_free: free, disk_mb_free_min: least }: HostHeartbeat): boolean {
  return free === null || least === null || free >= least;
}

function fits(host: HostHeartbeat, { cpu, memory_mb }: Size): boolean {
  return host.cpu_used + cpu <= host.cpu_total && host.memory_mb_used + memory_mb <= host.memory_mb_total;
}

function lessLoadedOfTwo(hosts: readonly HostHeartbeat[], random: () => number): number {
  const first = Math.floor(random() * hosts.length);
  if (hosts.length === 1) return first;
  const other = (first + 1 + Math.floor(random() * (hosts.length - 1))) % hosts.length;
  return load(hosts[first]!) <= load(hosts[other]!) ? first : other;
}

/** Used share of the scarcest resource. */
function load(host: HostHeartbeat): number {
  return Math.max(host.cpu_used / host.cpu_total, host.memory_mb_used / host.memory_mb_total);
}

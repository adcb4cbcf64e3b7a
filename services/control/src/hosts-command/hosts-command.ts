// The part of `npm run hosts` that asks the bus: the list, and the operator's orders.
import { type Bus, openBucket } from '@switchyard/bus';
import type { HostHeartbeat, HostOrder } from '@switchyard/contracts';

const USAGE = 'usage: npm run hosts [-- list | add <name> | remove <name> | cordon|drain|uncordon <host>]';

/**
 * @param names of the hosts that have a user here, by host id
 * @returns the list of hosts, or a confirmation of the order, for the standard output
 * @throws Error for invalid arguments or an unknown host
 */
export async function hostsCommand(
  bus: Bus,
  words: readonly string[],
  now: () => number,
  names: ReadonlyMap<string, string> = new Map(),
): Promise<string> {
  const [verb = 'list', word, ...more] = words;
  const host = [...names].find(([, name]) => name === word)?.[0] ?? word;
  const hosts = await openBucket(bus, 'hosts');
  const orders = await openBucket(bus, 'host-orders');
  if (verb === 'list' && host === undefined) {
    const beats = (await hosts.readableEntries())
      .filter(({ key, value }) => key === value.id)
      .map(({ value }) => value);
    const ordered = new Map((await orders.readableEntries()).map(({ key, value }) => [key, value.order]));
    return listed(beats, ordered, names);
  }
  if (host === undefined || more.length > 0) throw new Error(USAGE);
  // A disconnected host that has had an order can be ordered too: it reads the order when it reconnects. The heartbeat
  // of another release may be unreadable.
  const known = [...(await hosts.keys(host)), ...(await orders.keys(host))];
  if (!known.includes(host)) throw new Error(`host ${host} is unknown; npm run hosts lists known hosts`);
  switch (verb) {
    case 'cordon':
    case 'drain':
      await orders.put(host, { order: verb, at: new Date(now()).toISOString() });
      return `${host}: ${verb === 'cordon' ? 'takes no new computers' : 'is drained'}\n`;
    case 'uncordon':
      await orders.delete(host);
      return `${host}: takes computers\n`;
    default:
      throw new Error(USAGE);
  }
}

function listed(
  beats: readonly HostHeartbeat[],
  orders: ReadonlyMap<string, HostOrder['order']>,
  names: ReadonlyMap<string, string>,
): string {
  const heard = new Set(beats.map(({ id }) => id));
  const named = (id: string) => (names.has(id) ? `  (${names.get(id)})` : '');
  const lines = [
    ...beats.map((beat) => `${line(beat, orders.get(beat.id))}${named(beat.id)}`),
    ...[...names.keys()].filter((id) => !heard.has(id)).map((id) => `${id}  silent${named(id)}`),
  ];
  return lines.length === 0 ? 'no known hosts\n' : lines.map((text) => `${text}\n`).join('');
}

function line(beat: HostHeartbeat, order: HostOrder['order'] | undefined): string {
  const state = order ?? stateOf(beat);
  const cpu = `${beat.cpu_used} of ${beat.cpu_total} cpu`;
  const memory = `${beat.memory_mb_used} of ${beat.memory_mb_total} MiB`;
  const disk = beat.disk_mb_free === null ? '' : `  ${beat.disk_mb_free} MiB of disk free`;
  const refuses = beat.refuses === null ? '' : `  ${beat.refuses}`;
  return `${beat.id}  ${state.padEnd(9)}  ${beat.computers} running  ${cpu}  ${memory}${disk}${refuses}`;
}

function stateOf(beat: HostHeartbeat): string {
  if (beat.cordoned) return 'stopping';
  if (!beat.image_ready) return 'preparing';
  return beat.refuses === null ? 'ready' : 'refusing';
}

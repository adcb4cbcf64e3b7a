// The bridge network of one agent's computers: its own, without traffic between computers, behind the firewall.
import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import type { HostLogger } from '../computer/logger.ts';
import { LABEL_AGENT } from './engine.ts';
import { firewallStands, lowerFirewall, raiseFirewall } from './firewall.ts';
import { type Addresses, hasInterface, settleBridge } from './wires.ts';

/** Another program that sets the host's rules anew takes ours away with its own: they are looked after. */
const WATCH_EVERY_MS = 15_000;

export interface ComputerNetwork {
  /** Name of the Docker network and of its bridge interface. */
  readonly name: string;
  readonly addresses: Addresses;
  /** Why computers are not shut off from the host's networks, or undefined when they are. */
  readonly unprotected: string | undefined;
  /** Removes rules and network, if no container uses it any longer; else leaves both. */
  close(): Promise<void>;
}

export interface NetworkOptions {
  readonly docker: Docker;
  readonly agentId: string;
  readonly allowedNetworks: readonly string[];
  readonly logger: HostLogger;
  readonly watchEveryMs?: number;
}

/** An interface's name has at most 15 characters, so the agent's id goes in as a hash. */
export function networkName(agentId: string): string {
  return `sy${createHash('sha256').update(agentId).digest('hex').slice(0, 8)}`;
}

export async function openNetwork({
  docker,
  agentId,
  allowedNetworks,
  logger,
  watchEveryMs = WATCH_EVERY_MS,
}: NetworkOptions): Promise<ComputerNetwork> {
  const name = networkName(agentId);
  const addresses = await ensureBridge(docker, name, agentId);
  const isHere = await hasInterface(name); // or where the engine is
  let unprotected: string | undefined;
  try {
    const { connectionsLimited } = await raiseFirewall({ bridge: name, allowedNetworks });
    if (!connectionsLimited)
      logger.warn({}, 'one computer can fill this host’s table of connections: its kernel cannot limit them');
  } catch (error) {
    unprotected = `iptables could not be set: ${error instanceof Error ? error.message.trim() : String(error)}`;
  }

  let raising = Promise.resolve();
  const lookAfter = async () => {
    if (isHere && !(await hasInterface(name))) {
      // `docker network prune` takes each network away of whose containers the engine does not know.
      await ensureBridge(docker, name, agentId, addresses);
      logger.warn({ bridge: name }, 'the bridge of the computers was gone; they have their network again');
    }
    if (await firewallStands(name)) return;
    await raiseFirewall({ bridge: name, allowedNetworks });
    logger.warn({ bridge: name }, 'the walls around computers were gone; they stand again');
  };
  const watch = setInterval(() => {
    raising = raising.then(lookAfter).catch(() => {}); // said at the start, or tried again
  }, watchEveryMs).unref();

  return {
    name,
    addresses,
    unprotected,
    async close() {
      clearInterval(watch);
      await raising;
      // The engine does not know of computers that are on it by a wire.
      const filters = { label: [`${LABEL_AGENT}=${agentId}`] };
      if ((await docker.listContainers({ filters })).length > 0) return;
      const network = docker.getNetwork(name);
      try {
        await network.remove();
      } catch (error) {
        const status = (error as { statusCode?: number }).statusCode;
        if (status === 403) return; // computers are on it
        if (status !== 404) throw error;
      }
      await lowerFirewall(name);
    },
  };
}

/**
 * @param addresses that it had, if any
 * @returns those that it has
 */
async function ensureBridge(
  docker: Docker,
  name: string,
  agentId: string,
  addresses?: Addresses,
): Promise<Addresses> {
  const [existing] = await docker.listNetworks({ filters: { name: [`^${name}$`] } });
  if (existing) return existing.IPAM;
  await docker.createNetwork({
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: { [LABEL_AGENT]: agentId },
    ...(addresses ? { IPAM: addresses } : {}),
    Options: {
      'com.docker.network.bridge.name': name,
      'com.docker.network.bridge.enable_icc': 'false',
    },
  });
  const { IPAM } = await docker.getNetwork(name).inspect();
  if (await hasInterface(name)) await settleBridge(IPAM, name);
  return IPAM;
}

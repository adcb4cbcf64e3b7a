// The bridge network of one agent's computers: no traffic between computers, and behind the firewall.
import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import type { HostLogger } from '../computer/logger.ts';
import { LABEL_AGENT } from './container-config.ts';
import { installFirewall, isFirewallInstalled, removeFirewall } from './firewall.ts';

/** How often to check the rules. A program that resets the host's rules removes ours too. */
const WATCH_EVERY_MS = 15_000;
const INTERFACES = '/sys/class/net';

export interface ComputerNetwork {
  /** Name of the Docker network and of its bridge interface. */
  readonly name: string;
  /** Why computers are not isolated from the host's networks; undefined when they are. */
  readonly unprotected: string | undefined;
  /** Removes rules and network, unless a container still uses the network. */
  close(): Promise<void>;
}

interface NetworkOptions {
  readonly docker: Docker;
  readonly agentId: string;
  readonly allowedNetworks: readonly string[];
  /** As in `FirewallOptions`. */
  readonly mbitMax?: number | undefined;
  /** As in `FirewallOptions`. */
  readonly resolverFiles?: readonly string[] | undefined;
  readonly logger: HostLogger;
  readonly watchEveryMs?: number;
}

/** An interface's name has at most 15 characters, so the agent's id goes in as a hash. */
export function networkName(agentId: string): string {
  return `sy${createHash('sha256').update(agentId).digest('hex').slice(0, 8)}`;
}

/** Creates the network and its firewall, and checks both from now on. */
export async function openNetwork(options: NetworkOptions): Promise<ComputerNetwork> {
  const network = new BridgeNetwork(options);
  await network.open();
  return network;
}

class BridgeNetwork implements ComputerNetwork {
  readonly name: string;
  unprotected: string | undefined;
  readonly #options: NetworkOptions;
  /** The bridge is on this host; otherwise the engine runs elsewhere. */
  #isHere = false;
  #watch: NodeJS.Timeout | undefined;
  #checking = Promise.resolve();

  constructor(options: NetworkOptions) {
    this.name = networkName(options.agentId);
    this.#options = options;
  }

  async open(): Promise<void> {
    const { docker, agentId, logger, watchEveryMs = WATCH_EVERY_MS } = this.#options;
    await ensureBridge(docker, this.name, agentId);
    this.#isHere = await hasInterface(this.name);
    const connectionsLimited = await this.#installFirewall();
    if (connectionsLimited === false)
      logger.warn(
        {},
        'The kernel cannot limit connections: one computer can fill the connection table of this host',
      );
    this.#watch = setInterval(() => {
      this.#checking = this.#checking
        .then(() => this.#check())
        .catch((error: unknown) => logger.warn({ err: error }, 'Network of computers not checked'));
    }, watchEveryMs).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    await this.#checking;
    try {
      await this.#options.docker.getNetwork(this.name).remove();
    } catch (error) {
      const status = (error as { statusCode?: number }).statusCode;
      if (status === 403) return; // computers use it
      if (status !== 404) throw error;
    }
    await removeFirewall(this.name);
  }

  /** Restores what another program has removed, and takes over changes of the host's name servers. */
  async #check(): Promise<void> {
    const { docker, agentId, mbitMax, resolverFiles, logger } = this.#options;
    const bridge = this.name;
    if (this.#isHere && !(await hasInterface(bridge))) {
      // `docker network prune` removes a network that no container uses.
      await ensureBridge(docker, bridge, agentId);
      logger.warn({ bridge }, 'Network of computers was removed; created again');
    }
    const isInstalled = () => isFirewallInstalled({ bridge, mbitMax, resolverFiles }).catch(() => false);
    if (this.unprotected === undefined && (await isInstalled())) return;
    await this.#installFirewall();
    if (this.unprotected === undefined)
      logger.warn({ bridge }, 'Firewall rules were missing or outdated; installed again');
  }

  /** @returns whether connections are limited; undefined when the rules could not be installed */
  async #installFirewall(): Promise<boolean | undefined> {
    const { allowedNetworks, mbitMax, resolverFiles, logger } = this.#options;
    const bridge = this.name;
    try {
      const { connectionsLimited } = await installFirewall({
        bridge,
        allowedNetworks,
        mbitMax,
        resolverFiles,
      });
      this.unprotected = undefined;
      return connectionsLimited;
    } catch (error) {
      const reason = `iptables failed: ${error instanceof Error ? error.message.trim() : String(error)}`;
      this.unprotected = reason;
      logger.warn(
        { reason },
        'Firewall rules not installed: no computer starts here. Install iptables and run the agent as root',
      );
      return undefined;
    }
  }
}

async function ensureBridge(docker: Docker, name: string, agentId: string): Promise<void> {
  const [existing] = await docker.listNetworks({ filters: { name: [`^${name}$`] } });
  if (existing) return;
  await docker.createNetwork({
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    Labels: { [LABEL_AGENT]: agentId },
    Options: {
      'com.docker.network.bridge.name': name,
      'com.docker.network.bridge.enable_icc': 'false',
    },
  });
}

/** Whether this host (the network namespace of this process) has an interface of that name. */
function hasInterface(name: string): Promise<boolean> {
  return access(join(INTERFACES, name)).then(
    () => true,
    () => false,
  );
}

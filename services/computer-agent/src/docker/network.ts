// The bridge network of one agent's computers: no traffic between computers, and behind the firewall.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Lock, type Logger, type Repeating, repeat, systemClock } from '@switchyard/service';
import type Docker from 'dockerode';
import { LABEL_AGENT } from './container-config.ts';
import { installFirewall, isFirewallInstalled, removeFirewall } from './firewall.ts';

/** How often to check the rules. A program that resets the host's rules removes ours too. */
const WATCH_EVERY_MS = 15_000;

interface NetworkOptions {
  readonly docker: Docker;
  readonly agentId: string;
  readonly allowedNetworks: readonly string[];
  /** As in `FirewallOptions`. */
  readonly mbitMax?: number | undefined;
  /** As in `FirewallOptions`. */
  readonly resolverFiles?: readonly string[] | undefined;
  readonly logger: Logger;
  readonly watchEveryMs?: number | undefined;
  /** Whether the network namespace of this process has an interface of that name; replaced by tests. */
  readonly hasInterface?: ((name: string) => Promise<boolean>) | undefined;
}

/** An interface's name has at most 15 characters, so the agent's id goes in as a hash. */
export function networkName(agentId: string): string {
  return `sy${createHash('sha256').update(agentId).digest('hex').slice(0, 8)}`;
}

export class BridgeNetwork {
  /** Name of the Docker network and of its bridge interface. */
  readonly name: string;
  /** Why computers are not isolated from the host's networks; undefined when they are, and before the first attempt. */
  unprotectedReason: string | undefined;
  readonly #options: NetworkOptions;
  readonly #lock = new Lock();
  #isOpen = false;
  /** Why the connections of computers are not limited; undefined when they are, and before the first attempt. */
  #unlimitedReason: string | undefined;
  #watch: Repeating | undefined;

  constructor(options: NetworkOptions) {
    this.name = networkName(options.agentId);
    this.#options = options;
  }

  /** Keeps the network and its firewall in place from now on. Returns at once. Call once. */
  guard(): void {
    const { logger, watchEveryMs: everyMs = WATCH_EVERY_MS } = this.#options;
    const failed = 'Network of computers not created or checked; trying again';
    void this.restore().catch((error: unknown) => logger.warn({ err: error }, failed));
    this.#watch = repeat({ everyMs, clock: systemClock, logger, failed }, () => this.restore());
  }

  /**
   * Creates the network and its firewall, or restores what another program has removed, and takes over changes of the
   * host's name servers. @throws when the engine cannot create the network
   */
  restore(): Promise<void> {
    return this.#lock.run(() => this.#restore());
  }

  /** Removes rules and network, unless a container still uses the network or it was never opened. */
  async close(): Promise<void> {
    await this.#watch?.stop();
    return this.#lock.run(async () => {
      if (!this.#isOpen) return;
      try {
        await this.#options.docker.getNetwork(this.name).remove();
      } catch (error) {
        const status = (error as { statusCode?: number }).statusCode;
        if (status === 403) return; // computers use it
        if (status !== 404) throw error;
      }
      await removeFirewall(this.name);
    });
  }

  async #restore(): Promise<void> {
    const { docker, agentId, mbitMax, resolverFiles, hasInterface = isInterfaceHere, logger } = this.#options;
    const bridge = this.name;
    const isFirst = !this.#isOpen;
    if (isFirst || !(await hasInterface(bridge))) {
      // `docker network prune` removes a network that no container uses.
      const isNew = await ensureBridge(docker, bridge, agentId);
      this.#isOpen = true;
      if (isNew && !isFirst) logger.warn({ bridge }, 'Network of computers was removed; created again');
      // Rules laid here would not affect the computers.
      if (!(await hasInterface(bridge)))
        return this.#lacksRules(
          `the engine's bridge ${bridge} is in another network namespace than this agent`,
          "Run the agent on the engine's host, in its network namespace",
        );
    }
    const isInstalled = () => isFirewallInstalled({ bridge, mbitMax, resolverFiles }).catch(() => false);
    // An earlier agent's rules may be for other allowed networks.
    const isInPlace = !isFirst && this.unprotectedReason === undefined && (await isInstalled());
    if (isInPlace && this.#unlimitedReason === undefined) return;
    await this.#installFirewall();
    if (!isFirst && !isInPlace && this.unprotectedReason === undefined)
      logger.warn({ bridge }, 'Firewall rules were missing or outdated; installed again');
  }

  async #installFirewall(): Promise<void> {
    const { allowedNetworks, mbitMax, resolverFiles, logger } = this.#options;
    const bridge = this.name;
    try {
      const { unlimitedReason: reason } = await installFirewall({
        bridge,
        allowedNetworks,
        mbitMax,
        resolverFiles,
      });
      this.unprotectedReason = undefined;
      if (reason !== undefined && this.#unlimitedReason === undefined)
        logger.warn(
          { reason },
          'Connections not limited: one computer can fill the connection table of this host; trying again',
        );
      this.#unlimitedReason = reason;
    } catch (error) {
      const reason = `iptables failed: ${error instanceof Error ? error.message.trim() : String(error)}`;
      this.#lacksRules(reason, 'Install iptables and run the agent as root');
    }
  }

  #lacksRules(reason: string, fix: string): void {
    this.unprotectedReason = reason;
    this.#options.logger.warn({ reason }, `Firewall rules not installed: no computer starts here. ${fix}`);
  }
}

/** @returns whether the engine did not have the network */
async function ensureBridge(docker: Docker, name: string, agentId: string): Promise<boolean> {
  const [existing] = await docker.listNetworks({ filters: { name: [`^${name}$`] } });
  if (existing) return false;
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
  return true;
}

/** Reads a folder that follows the process's network namespace; /sys/class/net shows that of the mount of /sys. */
async function isInterfaceHere(name: string): Promise<boolean> {
  return existsSync(`/proc/sys/net/ipv4/conf/${name}`);
}

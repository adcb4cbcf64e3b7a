// What this host can do for computers: disks, and mounts into running containers. Proven with a probe container before
// computers use them, and again while something is missing that the setting requires.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import type { SizeMb } from '../docker/container-config.ts';
import type { MountSlots } from '../docker/mounts.ts';
import { type Containers, newSlot } from './containers.ts';
import type { Disks } from './disks.ts';
import type { SystemDisks } from './system-disks.ts';

const VERIFY_TIMEOUT_MS = 30_000;

/** Disk policy. `required`: the host takes no computers if it cannot mount disks. */
export const DISK_POLICIES = ['required', 'auto'] as const;
export type DiskPolicy = (typeof DISK_POLICIES)[number];

/** Message of the 503 answer. */
export const NO_DISK_LIMIT_MESSAGE =
  'the host cannot limit what computers write; its operator may allow that (SWITCHYARD_COMPUTER_DISKS)';

interface HostFeaturesDeps {
  readonly policy: DiskPolicy;
  readonly disks: Disks;
  /** As in `Containers`. */
  readonly slots: () => MountSlots | undefined;
  readonly systemDisks: SystemDisks;
  readonly containers: Containers;
  /** Image and size of the probe container. */
  readonly image: string;
  readonly size: SizeMb;
  /** Folder that is mounted into the probe container. */
  readonly probeDirectory: string;
  readonly logger: Logger;
}

interface Proven {
  /** Mounts of the host appear in running containers. */
  readonly mounts: boolean;
  readonly systemDisks: boolean;
}

export class HostFeatures {
  readonly #deps: HostFeaturesDeps;
  #proven: Proven | undefined;

  constructor(deps: HostFeaturesDeps) {
    this.#deps = deps;
  }

  get mounts(): boolean {
    return this.#proven?.mounts ?? false;
  }

  get systemDisks(): boolean {
    return this.#proven?.systemDisks ?? false;
  }

  /** Whether new computers get disks. @throws ServiceError `no_capacity` while this is unknown, or disks are lacking */
  useDisks(): boolean {
    if (!this.#proven) throw new ServiceError('no_capacity', 'the host is being prepared');
    if (this.lacksDisks) throw new ServiceError('no_capacity', NO_DISK_LIMIT_MESSAGE);
    return this.#hasDisks;
  }

  /** The host cannot limit what computers write, and must. False until that is known. */
  get lacksDisks(): boolean {
    const limitsWrites = this.#hasDisks && this.systemDisks;
    return this.#deps.policy === 'required' && this.#proven !== undefined && !limitsWrites;
  }

  get #hasDisks(): boolean {
    return this.mounts && this.#deps.disks.unusable === null;
  }

  /** Finds out what works. May be repeated. */
  async prove(): Promise<void> {
    const { disks, logger } = this.#deps;
    if (disks.unusable !== null) await disks.prove();
    this.#proven = await this.#probe();
    if (this.#hasDisks) logger.info({}, 'each new computer has a disk of its own');
    else
      logger.warn(
        { reason: disks.unusable },
        'computers write into folders of this host: only its disk limits how much',
      );
    if (this.lacksDisks)
      logger.warn(
        {},
        'this host takes no computers until disks work: SWITCHYARD_COMPUTER_DISKS=auto allows them without a limit',
      );
  }

  /** Tries with a system disk first, then without one. */
  async #probe(): Promise<Proven> {
    const { disks, logger } = this.#deps;
    const slots = this.#deps.slots();
    if (!slots) return { mounts: false, systemDisks: false };
    for (const systemDisks of disks.unusable === null ? [true, false] : [false]) {
      try {
        await this.#verify(slots, systemDisks);
        return { mounts: true, systemDisks };
      } catch (error) {
        logger.warn(
          { err: error },
          systemDisks
            ? 'writes of computers outside of /workspace are NOT limited here'
            : 'mounting into running containers does not work here: no warm pool',
        );
      }
    }
    return { mounts: false, systemDisks: false };
  }

  /** @throws if a mount made on the host does not appear in a container, or its writes are not on its disk */
  async #verify(slots: MountSlots, systemDisk: boolean): Promise<void> {
    const { containers, systemDisks, image, size, probeDirectory } = this.#deps;
    const slot = newSlot();
    const probe = await containers.start(await containers.create({ slot, image, ...size, systemDisk }));
    try {
      await mkdir(probeDirectory, { recursive: true });
      await writeFile(join(probeDirectory, 'seen'), '');
      await slots.mount(slot, probeDirectory);
      const { exitCode } = await probe.init.exec({
        id: 'mount-probe',
        command: 'test -e /workspace/seen && touch /tmp/seen',
        timeoutMs: VERIFY_TIMEOUT_MS,
        outputBytesMax: 0,
      });
      if (exitCode !== 0) throw new Error('mounts of the host do not appear in a running container');
      if (systemDisk && !systemDisks.isOn(slot, '/tmp/seen'))
        throw new Error('writes of a computer do not land on its system disk');
    } finally {
      await containers.destroy(probe);
    }
  }
}

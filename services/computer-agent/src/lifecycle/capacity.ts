// Capacity promised to running computers. Only this decides whether another computer fits: control places by
// heartbeats, which are up to a second old.
import { type HostOrder, ServiceError } from '@switchyard/contracts';
import type { SizeMb } from '../docker/container-config.ts';
import type { DiskRoom } from './disk-room.ts';

export class Capacity {
  readonly total: SizeMb;
  readonly disk: DiskRoom;
  /** Order of the operator for this host. */
  order: HostOrder['order'] | null = null;
  readonly #taken = new Map<string, SizeMb>();

  constructor(total: SizeMb, disk: DiskRoom) {
    this.total = total;
    this.disk = disk;
  }

  get used(): SizeMb {
    let cpu = 0;
    let memoryMb = 0;
    for (const size of this.#taken.values()) {
      cpu += size.cpu;
      memoryMb += size.memoryMb;
    }
    return { cpu, memoryMb };
  }

  get computers(): number {
    return this.#taken.size;
  }

  /**
   * @param isNew it has no files here yet
   * @throws ServiceError `no_capacity` when it does not fit, or the host takes no computers
   */
  take(id: string, size: SizeMb, isNew: boolean): void {
    if (this.order === 'drain')
      throw new ServiceError('no_capacity', 'the computer’s host is being drained for maintenance');
    if (this.order === 'cordon' && isNew)
      throw new ServiceError('no_capacity', 'the host takes no new computers');
    if (isNew && !this.disk.enough)
      throw new ServiceError(
        'no_capacity',
        'the host’s disk is nearly full: the rest is for the computers there (SWITCHYARD_HOST_DISK_GB_FREE_MIN)',
      );
    const { cpu, memoryMb } = this.used;
    if (cpu + size.cpu > this.total.cpu)
      throw new ServiceError('no_capacity', 'the host has too little cpu left for it');
    if (memoryMb + size.memoryMb > this.total.memoryMb)
      throw new ServiceError('no_capacity', 'the host has too little memory_mb left for it');
    this.#taken.set(id, size);
  }

  /** For a running computer, which can no longer be refused. */
  takeAnyway(id: string, size: SizeMb): void {
    this.#taken.set(id, size);
  }

  release(id: string): void {
    this.#taken.delete(id);
  }
}

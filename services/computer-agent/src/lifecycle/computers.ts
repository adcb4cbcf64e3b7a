// The computers of this host by id: one object each, found in memory or by its record.
import { ServiceError } from '@switchyard/contracts';
import type { RecordEntry } from '../store/computer-records.ts';
import { Computer } from './computer.ts';
import type { HostSurroundings } from './surroundings.ts';

export class Computers {
  readonly #on: HostSurroundings;
  readonly #byKey = new Map<string, Computer>();

  constructor(surroundings: HostSurroundings) {
    this.#on = surroundings;
  }

  /** @throws ServiceError `computer_not_found`: unknown, another org's, or on another host. */
  async find(org: string, id: string): Promise<Computer> {
    const known = this.#byKey.get(`${org}.${id}`);
    if (known) return known;
    const entry = await this.#on.records.get(org, id);
    if (!entry) throw new ServiceError('computer_not_found', 'no computer of this id');
    return this.adopt(entry);
  }

  /** The object of a record, made if this is the first that is heard of it. */
  adopt(entry: RecordEntry): Computer {
    const known = this.#byKey.get(entry.key);
    if (known) {
      known.refresh(entry);
      return known;
    }
    const computer = new Computer(entry, this.#on, () => this.#byKey.delete(entry.key));
    this.#byKey.set(entry.key, computer);
    return computer;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  all(): Computer[] {
    return [...this.#byKey.values()];
  }
}

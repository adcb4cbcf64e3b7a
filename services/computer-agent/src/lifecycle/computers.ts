// The computers of this host by id: one object each, found in memory or by its record.
import { computerKey, type HostOperationRequest, ServiceError } from '@switchyard/contracts';
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

  /**
   * One that is to be created: where its record came along, the store is not asked. What became of the record since then
   * shows when it is written.
   * @throws as `find`
   */
  async findNew({ org, id, made }: HostOperationRequest<'create'>): Promise<Computer> {
    const { record, revision } = made ?? {};
    const isHere = record?.host === this.#on.hostId && record.org === org && record.id === id;
    if (!record || !revision || !isHere) return this.find(org, id);
    return this.adopt({ key: computerKey(org, id), value: record, revision });
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

// The computers of this host by id, one object each, found in memory or by record.
import { type HostOperationRequest, recordKey, ServiceError } from '@switchyard/contracts';
import type { RecordEntry } from '../store/computer-records.ts';
import { Computer } from './computer.ts';
import type { ComputerDeps } from './deps.ts';

export class Computers {
  readonly #deps: ComputerDeps;
  readonly #byKey = new Map<string, Computer>();

  constructor(deps: ComputerDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError `computer_not_found`: unknown, another org's, or on another host. */
  async find(org: string, id: string): Promise<Computer> {
    const known = this.#byKey.get(recordKey({ host: this.#deps.hostId, org, id }));
    if (known) return known;
    const entry = await this.#deps.records.get(org, id);
    if (!entry) throw new ServiceError('computer_not_found', 'no computer of this id');
    return this.adopt(entry);
  }

  /**
   * Finds a computer that is to be created. If its record was sent along, the store is not read; later changes of the
   * record appear as conflicts when it is written.
   * @throws as `find`
   */
  async findNew({ org, id, made }: HostOperationRequest<'create'>): Promise<Computer> {
    const { record, revision } = made ?? {};
    const isHere = record?.host === this.#deps.hostId && record.org === org && record.id === id;
    if (!record || !revision || !isHere) return this.find(org, id);
    return this.adopt({ key: recordKey(record), value: record, revision });
  }

  /** Returns the object of a record; creates it on first use. */
  adopt(entry: RecordEntry): Computer {
    const known = this.#byKey.get(entry.key);
    if (known) {
      known.refresh(entry);
      return known;
    }
    const computer = new Computer(entry, this.#deps, () => this.#byKey.delete(entry.key));
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

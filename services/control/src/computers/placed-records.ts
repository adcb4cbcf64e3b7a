// Records of computers, each found by its placement. Control writes placements and hosts cannot: a record that a host
// makes under its own name, for a computer that control did not place there, is never read. An unreadable one is as good
// as none.
import type { Bucket } from '@switchyard/bus';
import {
  type ComputerPlacement,
  type ComputerRecord,
  computerPlacement,
  placementKey,
  recordKey,
} from '@switchyard/contracts';

interface PlacedRecordsOptions {
  readonly placements: Bucket<ComputerPlacement>;
  readonly computers: Bucket<ComputerRecord>;
}

/** Every method throws ServiceError `service_unavailable` while JetStream is down; a write may have happened. */
export class PlacedRecords {
  readonly placements: Bucket<ComputerPlacement>;
  readonly computers: Bucket<ComputerRecord>;

  constructor({ placements, computers }: PlacedRecordsOptions) {
    this.placements = placements;
    this.computers = computers;
  }

  async placement(org: string, id: string): Promise<ComputerPlacement | null> {
    return (await this.placements.get(placementKey(org, id)))?.value ?? null;
  }

  async find(org: string, id: string): Promise<ComputerRecord | null> {
    const placement = await this.placement(org, id);
    const [record = null] = placement ? await this.#ofPlacements([placement]) : [];
    return record;
  }

  /** The records of an org, in no particular order. */
  async ofOrg(org: string): Promise<ComputerRecord[]> {
    const placements = await this.placements.entries(`${org}.>`);
    return this.#ofPlacements(placements.map(({ value }) => value));
  }

  /** The records of all orgs, in no particular order. */
  async all(): Promise<ComputerRecord[]> {
    const placements = await this.placements.entries();
    return this.#ofPlacements(placements.map(({ value }) => value));
  }

  /** Asks for the placed records by key, so that nothing else that a host writes is read. Leaves out unreadable ones. */
  async #ofPlacements(placements: readonly ComputerPlacement[]): Promise<ComputerRecord[]> {
    const found = await this.computers.entriesOf(placements.map(recordKey));
    return placements.flatMap((placement) => {
      const entry = found.get(recordKey(placement));
      return entry ? [{ ...entry.value, ...placement }] : [];
    });
  }

  /** Places a new computer on the host of its record. @returns the revision of the record */
  async place(record: ComputerRecord): Promise<number> {
    await this.placements.put(placementKey(record.org, record.id), computerPlacement.parse(record));
    return this.computers.create(recordKey(record), record);
  }

  /** Removes a computer of which nothing is left. */
  async remove(record: ComputerRecord): Promise<void> {
    await this.computers.delete(recordKey(record));
    await this.placements.delete(placementKey(record.org, record.id));
  }

  /** Keys of the placements whose record is gone. */
  async withoutRecord(): Promise<string[]> {
    const placements = await this.placements.entries(); // first: a record is made after its placement
    const records = await this.computers.entriesOf(placements.map(({ value }) => recordKey(value)));
    return placements.filter(({ value }) => !records.has(recordKey(value))).map(({ key }) => key);
  }
}

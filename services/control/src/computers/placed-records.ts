// Records of computers, each found by its placement. Control writes placements and hosts cannot: a record that a host
// makes under its own name, for a computer that control did not place there, is never read.
import type { Bucket, Entry } from '@switchyard/bus';
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

/** Every method throws ServiceError `service_unavailable` while JetStream is away; a write may have happened. */
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

  async find(org: string, id: string): Promise<Entry<ComputerRecord> | null> {
    const placement = await this.placement(org, id);
    const entry = placement && (await this.computers.get(recordKey(placement)));
    return entry && { ...entry, value: { ...entry.value, ...placement } };
  }

  /** The records of an org, in no particular order. */
  async ofOrg(org: string): Promise<ComputerRecord[]> {
    const entries = await this.computers.entries(`*.${org}.>`);
    const records = await Promise.all(entries.map((entry) => this.placed(entry)));
    return records.filter((record) => record !== null);
  }

  /** The record with the facts of its placement; null: control did not place the computer on the host of this record. */
  async placed({ key, value }: Entry<ComputerRecord>): Promise<ComputerRecord | null> {
    const [, org = '', id = ''] = key.split('.');
    const placement = await this.placement(org, id);
    return placement && recordKey(placement) === key ? { ...value, ...placement } : null;
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
    const records = new Set(await this.computers.keys());
    return placements.filter(({ value }) => !records.has(recordKey(value))).map(({ key }) => key);
  }
}

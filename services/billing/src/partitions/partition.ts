// One partition under one layout: the names of its lease, consumer and subjects, and the orgs that belong to it.
import { partitionOf, placeOf, placesPattern } from '@switchyard/contracts';
import { partitionName } from '../store/partition.ts';
import { FIRST_LAYOUT, type Layout } from './layout.ts';

export class Partition {
  readonly index: number;
  readonly layout: Layout;

  constructor(index: number, layout: Layout) {
    this.index = index;
    this.layout = layout;
  }

  /** The name in ledger rows and in the ids of aggregates. */
  get name(): string {
    return partitionName(this.index);
  }

  /** The same under every layout, so owners of two layouts exclude each other. */
  get lease(): string {
    return `billing-${this.name}`;
  }

  /** A separate consumer for each layout. It begins where everything before is booked. */
  get consumer(): string {
    const { epoch } = this.layout;
    return `billing-${this.name}${epoch === 0 ? '' : `-e${epoch}`}`;
  }

  /** The places that it serves, as the end of a subject. */
  get places(): string {
    return placesPattern(this.index, this.layout.partitions);
  }

  hasOrg(org: string): boolean {
    const { partitions } = this.layout;
    return partitions === 1 || partitionOf(placeOf(org), partitions) === this.index;
  }

  /** Whether this partition books events of this subject, which ends in an org. */
  hasEvent(subject: string): boolean {
    return this.hasOrg(subject.slice(subject.lastIndexOf('.') + 1));
  }
}

/** All partitions of a layout. */
export function partitionsOf(layout: Layout): Partition[] {
  return Array.from({ length: layout.partitions }, (_, index) => new Partition(index, layout));
}

/** The names of all partitions that ever had rows: earlier layouts may have put an org into several. */
export function namesEver({ ever }: Pick<Layout, 'ever'>): string[] {
  return Array.from({ length: ever }, (_, index) => partitionName(index));
}

/** The only partition of an installation that was never split. */
export const ONLY_PARTITION = new Partition(0, FIRST_LAYOUT);

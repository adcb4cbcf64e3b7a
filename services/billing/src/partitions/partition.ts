// One partition under one layout: what its lease, its consumer and its part of subjects are called, and whose events and
// money are its own.
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

  /** In ledger rows and in the ids of aggregates. */
  get name(): string {
    return partitionName(this.index);
  }

  /** The same under every layout: owners of two layouts keep each other out. */
  get lease(): string {
    return `billing-${this.name}`;
  }

  /** One of its own for each layout, which begins where everything before is booked. */
  get consumer(): string {
    const { epoch } = this.layout;
    return `billing-${this.name}${epoch === 0 ? '' : `-e${epoch}`}`;
  }

  /** What it serves, as the end of a subject. */
  get places(): string {
    return placesPattern(this.index, this.layout.partitions);
  }

  hasOrg(org: string): boolean {
    const { partitions } = this.layout;
    return partitions === 1 || partitionOf(placeOf(org), partitions) === this.index;
  }

  /** Whether an event of this subject, which ends in an org, is to be booked here. */
  hasEvent(subject: string): boolean {
    return this.hasOrg(subject.slice(subject.lastIndexOf('.') + 1));
  }
}

/** All of a layout. */
export function partitionsOf(layout: Layout): Partition[] {
  return Array.from({ length: layout.partitions }, (_, index) => new Partition(index, layout));
}

/** The names of all that ever had rows: an org's may be in several, from earlier layouts. */
export function namesEver({ ever }: Pick<Layout, 'ever'>): string[] {
  return Array.from({ length: ever }, (_, index) => partitionName(index));
}

/** The one of an installation whose layout nobody has ever changed. */
export const ONLY_PARTITION = new Partition(0, FIRST_LAYOUT);

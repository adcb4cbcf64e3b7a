// Assigns an org's money to a billing partition. Every org has a fixed place, derived from its name; billing is split
// into 1, 2, 4, 8 or 16 partitions by the low bits of the place. Subjects of operations on an org's money end in its
// place, lowest bit first: a partition serves a prefix of the places, and callers need not know how many there are.

/** Bits of a place. */
const PLACE_BITS = 4;
export const PLACES = 2 ** PLACE_BITS;

/** Into how many partitions billing may be split. */
export const PARTITION_COUNTS = [1, 2, 4, 8, 16] as const;
export type PartitionCount = (typeof PARTITION_COUNTS)[number];

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const HALF_BITS = 16;

/**
 * The place of an org, from 0 to `PLACES - 1`: 32-bit FNV-1a over the UTF-8 bytes of its name, the upper half XORed
 * into the lower, and of that the lowest bits. It must never change: it decides which partition has an org's budget.
 */
export function placeOf(org: string): number {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(org)) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return (hash ^ (hash >>> HALF_BITS)) & (PLACES - 1);
}

/** The partition, from 0, of the orgs at a place. */
export function partitionOf(place: number, partitions: PartitionCount): number {
  return place % partitions;
}

/** The last tokens of a subject about an org's money: 5 is `1.0.1.0`. */
export function placeTokens(place: number): string {
  return bitsOf(place, PLACE_BITS).join('.');
}

/** What a single partition serves. */
export const ALL_PLACES = placesPattern(0, 1);

/** What a partition serves: the tokens of all its places, as a pattern of NATS. Partition 1 of 4 is `1.0.>`. */
export function placesPattern(partition: number, partitions: PartitionCount): string {
  const bits = Math.log2(partitions);
  return [...bitsOf(partition, bits), ...(bits < PLACE_BITS ? ['>'] : [])].join('.');
}

/** Lowest first. */
function bitsOf(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, bit) => (value >>> bit) & 1);
}

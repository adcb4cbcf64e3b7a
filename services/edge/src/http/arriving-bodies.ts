// Counts the bytes of each org's bodies that are still arriving and need no place in the byte budget. Beyond the
// maximum, further bodies of the org need a place too: many connections that send slowly cannot fill the memory.

/** Bytes of one org: 512 bodies of 64 KiB, or 32 of the size from which each needs a place. */
export const ARRIVING_BYTES_MAX = 32 * 1024 * 1024;

export class ArrivingBodies {
  readonly #bytesOf = new Map<string | null, number>();

  /** False when the org has no room for these further bytes; then they are not counted. */
  add(org: string | null, bytes: number): boolean {
    const sum = this.bytesOf(org) + bytes;
    if (sum > ARRIVING_BYTES_MAX) return false;
    this.#bytesOf.set(org, sum);
    return true;
  }

  /** The bytes arrived, were refused, or have a place now. */
  remove(org: string | null, bytes: number): void {
    const left = this.bytesOf(org) - bytes;
    if (left > 0) this.#bytesOf.set(org, left);
    else this.#bytesOf.delete(org);
  }

  bytesOf(org: string | null): number {
    return this.#bytesOf.get(org) ?? 0;
  }
}

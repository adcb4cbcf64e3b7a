// Counts the store that each org's kept answers use, over all edges. An org at its quota, or at its share of what the
// store has left, is refused before a request runs. An edge counts in memory and adds its count to the org's record, one
// write at a time.
import type { Bucket } from '@switchyard/bus';
import {
  IDEMPOTENCY_HEADER,
  IDEMPOTENCY_HOURS,
  IDEMPOTENCY_ORG_BYTES_MAX,
  IDEMPOTENCY_RECORD_BYTES,
  type IdempotencyUsage,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';

const HOUR_MS = 3_600_000;
/** Maximum share of the store's free space for one org: a few orgs cannot fill it for all. */
const STORE_LEFT_SHARE_MAX = 1 / 2;
/** Maximum age of the known free space of the store. */
export const STORE_LOOK_EVERY_MS = 5_000;

interface OrgQuotaOptions {
  bucket: Pick<Bucket<IdempotencyUsage>, 'get' | 'change'>;
  /** Bytes that the store of all orgs can still take. */
  bytesLeft: () => Promise<number>;
  clock: Clock;
  logger: Logger;
  /** Quota of each org in bytes; tests set another one. */
  bytesMax?: number;
}

/** The bytes that one request uses of its org's quota. */
export interface Share {
  /** Reserves the record and this many bytes of its answer; false, without a change, when that exceeds the quota. */
  hold(answerBytes: number): boolean;
  /** Releases everything, since nothing is kept. */
  release(): void;
}

type BytesByHour = Map<number, number>;

interface OrgCount {
  /** The record as last read or written. */
  stored: BytesByHour;
  /** Counted here and not written to the record yet. */
  pending: BytesByHour;
  writing: Promise<void> | null;
}

export class OrgQuota {
  readonly #deps: OrgQuotaOptions;
  readonly #bytesMax: number;
  /** Free space of the store at the last look. */
  #bytesLeft = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  readonly #orgs = new Map<string, OrgCount>();

  constructor(options: OrgQuotaOptions) {
    this.#deps = options;
    this.#bytesMax = options.bytesMax ?? IDEMPOTENCY_ORG_BYTES_MAX;
  }

  /** Whether one more request fits; reads the record again before it returns false. */
  async hasRoom(org: string): Promise<boolean> {
    await this.#lookAtStore();
    const known = this.#orgs.get(org);
    if (known && this.#fits(known, IDEMPOTENCY_RECORD_BYTES)) return true;
    const count = this.#countOf(org);
    await count.writing; // a concurrent read would restore the count from before the write
    await this.#read(org, count);
    return this.#fits(count, IDEMPOTENCY_RECORD_BYTES);
  }

  /** Counts one more record with an empty answer. */
  take(org: string): Share {
    const count = this.#countOf(org);
    const hour = this.#hour();
    let held = 0;
    const hold = (bytes: number) => {
      const more = bytes - held;
      if (more > 0 && !this.#fits(count, more)) return false;
      held = bytes;
      add(count.pending, hour, more);
      this.#write(org, count);
      return true;
    };
    hold(IDEMPOTENCY_RECORD_BYTES);
    return {
      hold: (answerBytes) => hold(IDEMPOTENCY_RECORD_BYTES + answerBytes),
      release: () => void hold(0),
    };
  }

  /** Resolves when every count that could be written is in its record. */
  async idle(): Promise<void> {
    await Promise.all([...this.#orgs.values()].map(({ writing }) => writing));
  }

  /** Requests that arrive meanwhile use the last count, and so do all when the store does not answer. */
  async #lookAtStore(): Promise<void> {
    const { clock, bytesLeft, logger } = this.#deps;
    if (clock.monotonic() - this.#lookedAt < STORE_LOOK_EVERY_MS) return;
    this.#lookedAt = clock.monotonic();
    try {
      this.#bytesLeft = await bytesLeft();
    } catch (error) {
      logger.warn({ err: error }, 'the free space for kept answers could not be read');
    }
  }

  #countOf(org: string): OrgCount {
    const known = this.#orgs.get(org);
    if (known) return known;
    const count: OrgCount = { stored: new Map(), pending: new Map(), writing: null };
    this.#orgs.set(org, count);
    return count;
  }

  #fits({ stored, pending }: OrgCount, more: number): boolean {
    const max = Math.min(this.#bytesMax, this.#bytesLeft * STORE_LEFT_SHARE_MAX);
    return this.#sum(stored) + this.#sum(pending) + more <= max;
  }

  #sum(bytes: BytesByHour): number {
    const oldest = this.#oldestHour();
    return bytes.entries().reduce((sum, [hour, more]) => (hour >= oldest ? sum + more : sum), 0);
  }

  #hour(): number {
    return Math.floor(this.#deps.clock.now() / HOUR_MS);
  }

  /** Answers that were kept before this hour have expired. */
  #oldestHour(): number {
    return this.#hour() - IDEMPOTENCY_HOURS;
  }

  /** Runs one write per org at a time; counts that arrive meanwhile go with the next. */
  #write(org: string, count: OrgCount): void {
    count.writing ??= this.#writePending(org, count)
      .catch((error: unknown) =>
        this.#deps.logger.warn({ err: error, org }, 'kept bytes could not be counted'),
      )
      .finally(() => {
        count.writing = null;
      });
  }

  async #writePending(org: string, count: OrgCount): Promise<void> {
    while (count.pending.size > 0) {
      const written = new Map(count.pending);
      const entry = await this.#deps.bucket.change(org, (found) => {
        const oldest = this.#oldestHour();
        const total = new Map(
          hoursOf(found?.value)
            .entries()
            .filter(([hour]) => hour >= oldest),
        );
        for (const [hour, bytes] of written) add(total, hour, bytes);
        return { bytes_by_hour: Object.fromEntries(total) };
      });
      count.stored = hoursOf(entry?.value);
      for (const [hour, bytes] of written) add(count.pending, hour, -bytes);
    }
  }

  async #read(org: string, count: OrgCount): Promise<void> {
    count.stored = hoursOf((await this.#deps.bucket.get(org))?.value);
  }
}

function hoursOf(usage: IdempotencyUsage | undefined): BytesByHour {
  return new Map(Object.entries(usage?.bytes_by_hour ?? {}).map(([hour, bytes]) => [Number(hour), bytes]));
}

export function quotaExceeded(): ServiceError {
  const hours = `${IDEMPOTENCY_HOURS} hours`;
  return new ServiceError(
    'idempotency_quota_exceeded',
    `The org’s kept answers of ${hours} fill its quota. Wait, or omit ${IDEMPOTENCY_HEADER}.`,
    { details: { bytes_max: IDEMPOTENCY_ORG_BYTES_MAX } },
  );
}

function add(bytes: BytesByHour, hour: number, more: number): void {
  const sum = (bytes.get(hour) ?? 0) + more;
  if (sum === 0) bytes.delete(hour);
  else bytes.set(hour, sum);
}

// The keys for makers: those that an operator set through the API, from a mirror of the bucket `provider-keys`, else
// those of the environment. Both by the variable that the catalog names.
import { type Bus, type Mirror, mirrorBucket, openBucket } from '@switchyard/bus';
import type { ProviderKeyRecord } from '@switchyard/contracts';
import { KeyLocked, ProviderSeal } from '@switchyard/service';

/** Shorter keys are not redacted: they would match ordinary words. */
const REDACTED_FROM_LENGTH = 8;
const REDACTED = '[redacted]';

interface ProviderKeysDeps {
  readonly bus: Bus;
  /** SWITCHYARD_PROVIDERS_SECRET. */
  readonly secret: string | undefined;
  /** Reads a variable of the environment. */
  environment(variable: string): string | undefined;
}

/** Starts to follow the bucket; resolves when its entries are known. */
export async function openProviderKeys({
  bus,
  secret,
  environment,
}: ProviderKeysDeps): Promise<ProviderKeys> {
  const records = await mirrorBucket(bus, await openBucket(bus, 'provider-keys'));
  return new ProviderKeys(records, new ProviderSeal(secret), environment);
}

/** A key that was set through the API. */
type StoredKey =
  | { readonly apiKey: string; readonly locked: null; readonly updatedAt: string }
  | { readonly apiKey: null; readonly locked: string; readonly updatedAt: string };

type Records = Pick<Mirror<ProviderKeyRecord>, 'peek' | 'entries' | 'caughtUp' | 'close'>;

export class ProviderKeys {
  readonly #records: Records;
  readonly #seal: ProviderSeal;
  readonly #environment: ProviderKeysDeps['environment'];
  /** Each record is opened once. */
  readonly #opened = new WeakMap<ProviderKeyRecord, StoredKey>();
  /** Keys that were handed out, which no message may show. */
  readonly #used = new Set<string>();

  constructor(records: Records, seal: ProviderSeal, environment: ProviderKeysDeps['environment']) {
    this.#records = records;
    this.#seal = seal;
    this.#environment = environment;
  }

  /** The key to call with. None for a stored key that cannot be read: another account's key must not take its place. */
  readonly secret = (variable: string): string | undefined => {
    const stored = this.stored(variable);
    const key = stored ? (stored.apiKey ?? undefined) : this.ofEnvironment(variable);
    if (key !== undefined && key.length >= REDACTED_FROM_LENGTH) this.#used.add(key);
    return key;
  };

  /** Why the stored key cannot be read; null: it can, or there is none. */
  readonly locked = (variable: string): string | null => this.stored(variable)?.locked ?? null;

  /** Redacts the keys in a maker's text. */
  readonly redactKeys = (words: string): string => {
    let text = words;
    for (const key of this.#used) text = text.replaceAll(key, REDACTED);
    return text;
  };

  stored(variable: string): StoredKey | null {
    const record = this.#records.peek(variable);
    if (record === null) return null;
    const known = this.#opened.get(record);
    if (known) return known;
    const opened = this.#open(variable, record);
    this.#opened.set(record, opened);
    return opened;
  }

  ofEnvironment(variable: string): string | undefined {
    return this.#environment(variable);
  }

  /** Variables with a stored key, whether the catalog names them or not. */
  storedVariables(): string[] {
    return this.#records.entries().map(({ key }) => key);
  }

  /** Resolves when all keys that were set before the call are known. @throws ServiceError `service_unavailable` */
  caughtUp(): Promise<void> {
    return this.#records.caughtUp();
  }

  close(): void {
    this.#records.close();
  }

  #open(variable: string, { sealed, updated_at: updatedAt }: ProviderKeyRecord): StoredKey {
    try {
      return { apiKey: this.#seal.open(variable, sealed), locked: null, updatedAt };
    } catch (error) {
      if (!(error instanceof KeyLocked)) throw error;
      return { apiKey: null, locked: error.message, updatedAt };
    }
  }
}

// Tracks requests and streams that are open under a key. They end when the key is revoked or expires, and when a
// replaced secret reaches the end of its grace period.
import { type KeyRecord, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export interface Revocable {
  /** Ends the relay; `reason` is sent to its client. */
  revoke(reason: ServiceError): void;
}

/** A key with the one secret that its caller uses (`KeysByHash`); without secrets: an org (`whileOrgHolds`). */
export type CallerKey = Pick<KeyRecord, 'id' | 'org' | 'expires_at' | 'secrets'>;

interface OpenUnderSecret {
  /** Up to date. */
  key: CallerKey;
  readonly relays: Set<Revocable>;
  /** Cancels the end timer. */
  cancel: () => void;
}

/** Timers of the runtime are limited to 24.8 days, so a later end is checked again after this time. */
const LOOK_AGAIN_MS = 86_400_000;

/** Throws, or rejects, when a secret that was authenticated before is no longer valid. */
type Recheck = (keyHash: string) => unknown;

export class OpenRelays {
  readonly #clock: Clock;
  readonly #recheck: Recheck;
  readonly #bySecret = new Map<string, OpenUnderSecret>();

  constructor(clock: Clock, recheck: Recheck) {
    this.#clock = clock;
    this.#recheck = recheck;
  }

  /**
   * Ends the relay at once if its secret ended since it was authenticated: a body may take minutes to arrive, and a
   * request may wait for its turn.
   * @returns a function that removes the relay when it ends by itself; it may be called repeatedly
   */
  add(key: CallerKey, relay: Revocable): () => void {
    try {
      const [secret] = key.secrets;
      const checked = secret && this.#recheck(secret.hash);
      const close = this.#add(key, relay);
      if (checked instanceof Promise)
        checked.catch((reason: unknown) => {
          if (!isRefusal(reason)) return; // it cannot be checked at the moment
          close();
          relay.revoke(reason);
        });
      return close;
    } catch (reason) {
      if (!isRefusal(reason)) throw reason;
      relay.revoke(reason);
      return () => {};
    }
  }

  #add(key: CallerKey, relay: Revocable): () => void {
    const name = nameOf(key);
    const known = this.#bySecret.get(name);
    const open = known ?? { key, relays: new Set(), cancel: () => {} };
    open.relays.add(relay);
    if (!known) {
      this.#bySecret.set(name, open);
      this.#watchEnd(open);
    }
    return () => {
      if (open.relays.delete(relay) && open.relays.size === 0) this.#forget(name, open);
    };
  }

  /** The record of a key changed: its secrets may end earlier, later, or not at all. Null: the key was revoked. */
  changed(previous: CallerKey, key: CallerKey | null): void {
    for (const { hash } of previous.secrets) {
      const open = this.#bySecret.get(hash);
      if (!open) continue;
      const secret = key?.secrets.find((one) => one.hash === hash);
      if (key && secret) {
        open.key = { ...key, secrets: [secret] };
        this.#watchEnd(open);
      } else this.#end(open, revoked());
    }
  }

  /** Ends everything that is open under the keys of an org. */
  suspend(org: string): void {
    for (const open of [...this.#bySecret.values()])
      if (open.key.org === org) this.#end(open, orgSuspended());
  }

  #watchEnd(open: OpenUnderSecret): void {
    open.cancel();
    const end = endOf(open.key);
    if (!end) return;
    const left = end.at - this.#clock.now();
    open.cancel = this.#clock.after(Math.min(Math.max(0, left), LOOK_AGAIN_MS), () => {
      if (end.at > this.#clock.now()) this.#watchEnd(open);
      else this.#end(open, end.reason);
    });
  }

  #end(open: OpenUnderSecret, reason: ServiceError): void {
    this.#forget(nameOf(open.key), open);
    for (const relay of [...open.relays]) relay.revoke(reason);
  }

  #forget(name: string, open: OpenUnderSecret): void {
    open.cancel();
    if (this.#bySecret.get(name) === open) this.#bySecret.delete(name);
  }
}

function isRefusal(reason: unknown): reason is ServiceError {
  return reason instanceof ServiceError && reason.code !== 'service_unavailable';
}

function nameOf({ id, secrets: [secret] }: CallerKey): string {
  return secret?.hash ?? id;
}

/** The time at which a secret becomes invalid, in milliseconds since the epoch, and the error; null: never. */
function endOf({ expires_at: expiresAt, secrets: [secret] }: CallerKey) {
  const expiry = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const until = secret?.until ?? null;
  const retirement = until === null ? Number.POSITIVE_INFINITY : Date.parse(until);
  const at = Math.min(expiry, retirement);
  if (at === Number.POSITIVE_INFINITY) return null;
  return { at, reason: retirement <= expiry ? replaced(until) : expired(expiresAt) };
}

function revoked(): ServiceError {
  return new ServiceError('invalid_api_key', 'The API key was revoked. Use another key.');
}

export function expired(at: string | null): ServiceError {
  return new ServiceError('expired_api_key', `The API key expired at ${at}. Use another key.`);
}

export function orgSuspended(): ServiceError {
  return new ServiceError('org_suspended', 'The org is suspended. Ask the operator of this service.');
}

export function replaced(at: string | null): ServiceError {
  return new ServiceError('invalid_api_key', `The API key was replaced at ${at}. Use its new secret.`);
}

// Tracks requests and streams that are open under a key. They end when the key is revoked or expires, and when a
// replaced secret reaches the end of its grace period.
import { type KeyRecord, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export interface Revocable {
  /** Ends the relay; `reason` is sent to its client. */
  revoke(reason: ServiceError): void;
}

/** One secret of a key. Relays under a replaced secret end before those under its successor. */
export type Secret = Pick<KeyRecord, 'id' | 'org' | 'rotation' | 'expires_at' | 'retires_at'>;

interface OpenUnderSecret {
  /** With its latest expiry and retirement. */
  secret: Secret;
  readonly relays: Set<Revocable>;
  /** Cancels the timer of the end. */
  cancel: () => void;
}

/** Timers of the runtime are limited to 24.8 days, so a later end is checked again after this time. */
const LOOK_AGAIN_MS = 86_400_000;

/** Throws, or rejects, when a secret that was authenticated before is no longer valid. */
type Recheck = (secret: Secret) => unknown;

export class OpenRelays {
  readonly #clock: Clock;
  readonly #recheck: Recheck;
  readonly #bySecret = new Map<string, OpenUnderSecret>();

  constructor(clock: Clock, recheck: Recheck) {
    this.#clock = clock;
    this.#recheck = recheck;
  }

  /**
   * Ends the relay at once if its secret ended after it was authenticated: a body may take minutes to arrive, and a request
   * may wait for its turn.
   * @returns a function that removes the relay when it ends by itself; it may be called repeatedly
   */
  add(secret: Secret, relay: Revocable): () => void {
    try {
      const checked = this.#recheck(secret);
      const close = this.#add(secret, relay);
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

  #add(secret: Secret, relay: Revocable): () => void {
    const name = nameOf(secret);
    const known = this.#bySecret.get(name);
    const open = known ?? { secret, relays: new Set(), cancel: () => {} };
    open.relays.add(relay);
    if (!known) {
      this.#bySecret.set(name, open);
      this.#watchEnd(open);
    }
    return () => {
      if (open.relays.delete(relay) && open.relays.size === 0) this.#forget(name, open);
    };
  }

  /**
   * The record of a secret changed: it may end earlier, later, or not at all. All secrets of a key have the expiry in the
   * record of the current one.
   */
  changed(record: Secret & Pick<KeyRecord, 'successor'>): void {
    for (const open of this.#bySecret.values()) {
      const { secret } = open;
      if (secret.id !== record.id) continue;
      const { expires_at } = record.successor ? secret : record;
      const { retires_at } = nameOf(secret) === nameOf(record) ? record : secret;
      open.secret = { ...secret, expires_at, retires_at };
      this.#watchEnd(open);
    }
  }

  revoke(secret: Secret): void {
    this.#end(secret, new ServiceError('invalid_api_key', 'The API key was revoked. Use another key.'));
  }

  /** Ends everything that is open under the keys of an org. */
  suspend(org: string): void {
    for (const { secret } of [...this.#bySecret.values()])
      if (secret.org === org) this.#end(secret, orgSuspended());
  }

  #watchEnd(open: OpenUnderSecret): void {
    open.cancel();
    const end = endOf(open.secret);
    if (!end) return;
    const left = end.at - this.#clock.now();
    open.cancel = this.#clock.after(Math.min(Math.max(0, left), LOOK_AGAIN_MS), () => {
      if (end.at > this.#clock.now()) this.#watchEnd(open);
      else this.#end(open.secret, end.reason);
    });
  }

  #end(secret: Secret, reason: ServiceError): void {
    const name = nameOf(secret);
    const open = this.#bySecret.get(name);
    if (!open) return;
    this.#forget(name, open);
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

function nameOf({ id, rotation }: Secret): string {
  return `${id}/${rotation ?? 0}`;
}

/** The time at which a secret becomes invalid, in milliseconds since the epoch, and the error; null: never. */
function endOf({ expires_at: expiresAt, retires_at: retiresAt }: Secret) {
  const expiry = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const retirement = retiresAt ? Date.parse(retiresAt) : Number.POSITIVE_INFINITY;
  const at = Math.min(expiry, retirement);
  if (at === Number.POSITIVE_INFINITY) return null;
  return { at, reason: retirement <= expiry ? replaced(retiresAt) : expired(expiresAt) };
}

export function expired(at: string | null): ServiceError {
  return new ServiceError('expired_api_key', `The API key expired at ${at}. Use another key.`);
}

export function orgSuspended(): ServiceError {
  return new ServiceError('org_suspended', 'The org is suspended. Ask the operator of this service.');
}

export function replaced(at: string | null | undefined): ServiceError {
  return new ServiceError('invalid_api_key', `The API key was replaced at ${at}. Use its new secret.`);
}

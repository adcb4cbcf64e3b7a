// What goes on under a key after it was let in: revoking the key ends it, and so does its expiry, or the end of the time
// for which a secret is accepted that has been replaced.
import { type KeyRecord, ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export interface Revocable {
  /** Ends it; `reason` is what its client is told. */
  revoke(reason: ServiceError): void;
}

/** One secret of a key: what is open under one that was replaced ends before what is open under its successor. */
type Secret = Pick<KeyRecord, 'id' | 'rotation' | 'expires_at' | 'retires_at'>;

interface OpenUnderSecret {
  readonly relays: Set<Revocable>;
  /** Takes back the clock of its end. */
  cancel: () => void;
}

/** Timers of the runtime go no further than 24.8 days: the end is looked at again after one. */
const LOOK_AGAIN_MS = 86_400_000;

export class OpenRelays {
  readonly #clock: Clock;
  readonly #bySecret = new Map<string, OpenUnderSecret>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns how to take it out again, once it has ended by itself; any number of times */
  add(secret: Secret, relay: Revocable): () => void {
    const name = nameOf(secret);
    const known = this.#bySecret.get(name);
    const open = known ?? { relays: new Set(), cancel: () => {} };
    open.relays.add(relay);
    if (!known) {
      this.#bySecret.set(name, open);
      this.#watchEnd(secret, open);
    }
    return () => {
      if (open.relays.delete(relay) && open.relays.size === 0) this.#forget(name, open);
    };
  }

  /** The record of a secret is another one now: it may end earlier, later, or not at all. */
  changed(secret: Secret): void {
    const open = this.#bySecret.get(nameOf(secret));
    if (open) this.#watchEnd(secret, open);
  }

  revoke(secret: Secret): void {
    this.#end(secret, new ServiceError('invalid_api_key', 'the API key was revoked'));
  }

  #watchEnd(secret: Secret, open: OpenUnderSecret): void {
    open.cancel();
    const end = endOf(secret);
    if (!end) return;
    const left = end.at - this.#clock.now();
    open.cancel = this.#clock.after(Math.min(Math.max(0, left), LOOK_AGAIN_MS), () => {
      if (end.at > this.#clock.now()) this.#watchEnd(secret, open);
      else this.#end(secret, end.reason);
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

function nameOf({ id, rotation }: Secret): string {
  return `${id}/${rotation ?? 0}`;
}

/** When a secret is refused, in milliseconds since the epoch, and how; null: never. */
function endOf({ expires_at: expiresAt, retires_at: retiresAt }: Secret) {
  const expiry = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const retirement = retiresAt ? Date.parse(retiresAt) : Number.POSITIVE_INFINITY;
  const at = Math.min(expiry, retirement);
  if (at === Number.POSITIVE_INFINITY) return null;
  return { at, reason: retirement <= expiry ? replaced(retiresAt) : expired(expiresAt) };
}

export function expired(at: string | null): ServiceError {
  return new ServiceError('expired_api_key', `the API key expired at ${at}`);
}

export function replaced(at: string | null | undefined): ServiceError {
  return new ServiceError('invalid_api_key', `the API key was replaced by a new secret at ${at}`);
}

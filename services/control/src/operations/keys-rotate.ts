// keys.rotate: gives a key a new secret. Its id, permissions, limits and spending stay. The former secret works until
// its grace period ends.
import {
  FORMER_SECRETS_MAX,
  type KeySecret,
  MINUTE_MS,
  type OperationRequest,
  type RotatedKey,
  ServiceError,
  toKeyObject,
} from '@switchyard/contracts';
import type { RequestContext } from '../changes/administered.ts';
import { changeKey } from '../keys/change-key.ts';
import { isFirstKey } from '../keys/first-key.ts';
import { hashKey, keyPrefix, newSecret } from '../keys/secret.ts';
import type { KeyOperations } from './keys-create.ts';

/**
 * A key that is rotated again within its grace period has several former secrets, the latest FORMER_SECRETS_MAX. Of two
 * rotations at once, the later one gives the current secret, and the other's becomes a former one.
 * @throws ServiceError as `changeKey`; `invalid_request` for the key of SWITCHYARD_KEY
 */
export function rotateKey(deps: KeyOperations) {
  return async (
    { org, key_id, id, body }: OperationRequest<'keys.rotate'>,
    context: RequestContext,
  ): Promise<RotatedKey> => {
    refuseFirstKey(id);
    const now = deps.clock.now();
    const until = now + body.grace_minutes * MINUTE_MS;
    const secret = newSecret();
    const current: KeySecret = { hash: hashKey(secret), until: null };
    const rotated = await changeKey(deps, {
      ...{ event: 'key.rotated', id, caller: { org, key_id }, context },
      change: (key) => {
        const former = key.secrets.map((one) => ({ ...one, until: earlier(one.until, until) }));
        const valid = former.filter((one) => Date.parse(one.until) > now).slice(0, FORMER_SECRETS_MAX);
        return { ...key, prefix: keyPrefix(secret), secrets: [current, ...valid] };
      },
    });
    return { ...toKeyObject(rotated), key: secret, former_until: new Date(until).toISOString() };
  };
}

/** The end of a former secret: that of an earlier rotation, unless this one ends it sooner. */
function earlier(end: string | null, until: number): string {
  return new Date(end === null ? until : Math.min(Date.parse(end), until)).toISOString();
}

function refuseFirstKey(id: string): void {
  if (!isFirstKey(id)) return;
  const message = 'This key comes from the setting SWITCHYARD_KEY. Change the setting to rotate it.';
  throw new ServiceError('invalid_request', message, { param: 'id' });
}

// Operations on API keys; those that change one have files of their own.
import type { Handlers } from '@switchyard/bus';
import { pageFrom, toKeyObject } from '@switchyard/contracts';
import { findKey, keysOf } from '../keys/find-key.ts';
import { createKey, type KeyOperations } from './keys-create.ts';
import { deleteKey } from './keys-delete.ts';
import { rotateKey } from './keys-rotate.ts';
import { updateKey } from './keys-update.ts';

export function keyHandlers(deps: KeyOperations) {
  const { keys, known } = deps;
  return {
    'keys.create': createKey(deps),

    /** Newest first. */
    'keys.list': async ({ org, query }) => {
      await known.caughtUp();
      const data = keysOf(known, org)
        .sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id))
        .map(toKeyObject);
      return pageFrom(data, query, ({ id }) => id);
    },

    /** Shows one key, without its secrets. */
    'keys.get': async ({ org, id }) => toKeyObject((await findKey(keys, org, id)).value),

    'keys.update': updateKey(deps),
    'keys.rotate': rotateKey(deps),
    'keys.delete': deleteKey(deps),
  } satisfies Handlers;
}

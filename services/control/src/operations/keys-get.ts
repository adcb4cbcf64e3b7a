import { type OperationRequest, type OperationResponse, toKeyObject } from '@switchyard/contracts';
import { findKey } from '../keys/find-key.ts';
import type { KeyOperations } from './keys-create.ts';

/** Shows one key, without its secret. */
export function getKey({ keys }: Pick<KeyOperations, 'keys'>) {
  return async ({ org, id }: OperationRequest<'keys.get'>): Promise<OperationResponse<'keys.get'>> =>
    toKeyObject((await findKey(keys, org, id)).value);
}

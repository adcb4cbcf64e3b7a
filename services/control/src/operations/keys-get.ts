import { type OperationRequest, type OperationResponse, toKeyObject } from '@switchyard/contracts';
import { findKey } from '../keys/find-key.ts';
import type { KeyOperations } from './keys-create.ts';

/** Shows one key, without its secret. */
export function getKey(deps: KeyOperations) {
  return async ({ org, id }: OperationRequest<'keys.get'>): Promise<OperationResponse<'keys.get'>> =>
    toKeyObject((await findKey(deps, org, id)).current.value);
}

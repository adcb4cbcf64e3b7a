import { type OperationRequest, type OperationResponse, toKeyObject } from '@switchyard/contracts';
import { findKey } from '../keys/find-key.ts';
import type { KeyOperations } from './keys-create.ts';

/** One key, without its secret. */
export function getKey(on: KeyOperations) {
  return async ({ org, id }: OperationRequest<'keys.get'>): Promise<OperationResponse<'keys.get'>> =>
    toKeyObject((await findKey(on, org, id)).current.value);
}

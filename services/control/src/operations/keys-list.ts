import { type OperationRequest, type OperationResponse, pageFrom, toKeyObject } from '@switchyard/contracts';
import { keysOf } from '../keys/find-key.ts';
import type { KeyOperations } from './keys-create.ts';

/** Lists an org's keys, newest first. */
export function listKeys({ known }: Pick<KeyOperations, 'known'>) {
  return async ({ org, query }: OperationRequest<'keys.list'>): Promise<OperationResponse<'keys.list'>> => {
    const data = keysOf(known, org)
      .sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id))
      .map(toKeyObject);
    return pageFrom(data, query, ({ id }) => id);
  };
}

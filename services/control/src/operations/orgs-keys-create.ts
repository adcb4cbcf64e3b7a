import type { CreatedKey, KeyRecord, OperationRequest } from '@switchyard/contracts';
import { TENANT_PERMISSIONS } from '@switchyard/contracts';
import { actingOf, type RequestContext } from '../changes/administered.ts';
import { findCaller } from '../keys/authority.ts';
import { findOrg, type OrgDeps } from '../orgs/org-records.ts';
import { createKey, issueKey, type KeyOperations } from './keys-create.ts';

/**
 * Creates a key of an org for its operator. It inherits no bounds of the operator's key, and cannot hold `operator`. In
 * the operator's own org it is a key like any other.
 * @throws ServiceError `org_not_found`; `permission_denied`; `invalid_request`; `invalid_api_key`
 */
export function createOrgKey({ orgs, keys }: Pick<OrgDeps, 'orgs'> & { readonly keys: KeyOperations }) {
  return async (
    { org: own, key_id: by, id, body }: OperationRequest<'orgs.keys.create'>,
    context: RequestContext,
  ): Promise<CreatedKey> => {
    if (id === own) return createKey(keys)({ org: own, key_id: by, body }, context);
    /**
     * A maker without an id: a key in the line of the operator's key would have its limits, and end with it.
     * Runs again after the key is written: the operator's key may be revoked, and the org removed, meanwhile.
     */
    const findMaker = async (): Promise<KeyRecord> => {
      await findCaller(keys.keys, { org: own, key_id: by });
      const { value: org } = await findOrg(orgs, id);
      return {
        ...{ id: '', org: org.id, name: org.name, permissions: TENANT_PERMISSIONS, prefix: '' },
        ...{ created_at: org.created_at, expires_at: null, limit: null, models: null, secrets: [] },
      };
    };
    return issueKey(keys, { by: actingOf({ org: own, key_id: by }, context), body, findMaker });
  };
}

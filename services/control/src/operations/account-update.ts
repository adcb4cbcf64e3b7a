// account.update: how an org pays, and what it may spend in a month. Everyone who must know watches the record.
import { type Bucket, RevisionConflict } from '@switchyard/bus';
import {
  type OperationRequest,
  type OperationResponse,
  type OrgRecord,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';

export interface AccountOperations {
  orgs: Bucket<OrgRecord>;
  clock: Clock;
}

/** Two who change it at the same moment: the second reads again, this often at the most. */
const TRIES_MAX = 5;

export function updateAccount({ orgs, clock }: AccountOperations) {
  return async ({
    org,
    body,
  }: OperationRequest<'account.update'>): Promise<OperationResponse<'account.update'>> => {
    for (let tries = 1; ; tries++) {
      const entry = await orgs.get(org);
      const before = entry?.value ?? { billing: 'postpaid' as const, monthly_limit: null };
      const record: OrgRecord = {
        id: org,
        billing: body.billing ?? before.billing,
        monthly_limit: body.monthly_limit === undefined ? before.monthly_limit : body.monthly_limit,
        updated_at: new Date(clock.now()).toISOString(),
      };
      if (record.billing === 'prepaid' && body.monthly_limit)
        throw new ServiceError('invalid_request', 'monthly_limit: a prepaid org is limited by its credits', {
          param: 'monthly_limit',
        });
      try {
        if (entry) await orgs.update(org, record, entry.revision);
        else await orgs.create(org, record);
        return {};
      } catch (error) {
        if (!(error instanceof RevisionConflict) || tries >= TRIES_MAX) throw error;
      }
    }
  };
}

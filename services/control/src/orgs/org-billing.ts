import { type BillingMode, invalidParam } from '@switchyard/contracts';

interface Payment {
  readonly billing: BillingMode;
  /** As the request has it. */
  readonly monthly_limit?: number | null | undefined;
}

/** @throws ServiceError `invalid_request` for a prepaid org that is given a monthly limit */
export function requirePayable({ billing, monthly_limit }: Payment): void {
  if (billing === 'prepaid' && monthly_limit)
    throw invalidParam('monthly_limit', 'a prepaid org is limited by its credits. Use billing postpaid.');
}

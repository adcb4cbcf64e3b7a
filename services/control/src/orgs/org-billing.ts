import { type BillingMode, ServiceError } from '@switchyard/contracts';

interface Payment {
  readonly billing: BillingMode;
  /** As the request has it. */
  readonly monthly_limit?: number | null | undefined;
}

/** @throws ServiceError `invalid_request` for a prepaid org that is given a monthly limit */
export function requirePayable({ billing, monthly_limit }: Payment): void {
  if (billing === 'prepaid' && monthly_limit)
    throw new ServiceError(
      'invalid_request',
      'monthly_limit: a prepaid org is limited by its credits. Use billing postpaid.',
      {
        param: 'monthly_limit',
      },
    );
}

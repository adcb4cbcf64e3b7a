// What a key may spend on: the models it is for, and whether anything limits it at all (then its calls must hold what
// they may cost, with billing; all others never ask).
import type { Mirror } from '@switchyard/bus';
import { type KeyRecord, mayUse, type OrgRecord, ServiceError } from '@switchyard/contracts';

/**
 * The models of a call that its key may use, in order.
 * @throws ServiceError `model_not_allowed` when the first is not among them; others are left out
 */
export function allowedModels(key: KeyRecord, models: string[]): string[] {
  if (!key.models) return models;
  const [first] = models;
  if (first !== undefined && !mayUse(key, first)) {
    const message = `this API key may not use ${first}: it is for ${key.models.join(', ')}`;
    throw new ServiceError('model_not_allowed', message, { param: 'model' });
  }
  return models.filter((model) => mayUse(key, model));
}

export class Spending {
  readonly #orgs: Mirror<OrgRecord>;

  constructor(orgs: Mirror<OrgRecord>) {
    this.#orgs = orgs;
  }

  /** Whether the org or the key has a limit; yes where it is not known. */
  isLimited({ org, limit }: KeyRecord): boolean {
    if (limit) return true;
    const record = this.#orgs.peek(org);
    if (record !== null) return record.billing === 'prepaid' || record.monthly_limit !== null;
    return !this.#orgs.fresh;
  }
}

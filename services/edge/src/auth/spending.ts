// Which models a key may use, whether any spending limit applies to it, and the mark-up on its prices. Only limited keys
// reserve the cost of a call with billing.
import type { Mirror } from '@switchyard/bus';
import {
  type ChargedCall,
  type KeyRecord,
  keyRecordKey,
  type Markup,
  makersOf,
  mayUse,
  type OrgRecord,
  ServiceError,
  toMarkup,
} from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';

/**
 * Returns the models of a call that its key may use, in order.
 * @throws ServiceError `model_not_allowed` when the first model is not allowed; other such models are left out
 */
export function allowedModels(key: KeyRecord, models: string[]): string[] {
  if (!key.models) return models;
  requireModels(key, models.slice(0, 1));
  return models.filter((model) => mayUse(key, model));
}

/** @throws ServiceError `model_not_allowed` when the key does not allow one of the models */
export function requireModels(key: KeyRecord, models: readonly string[]): void {
  const refused = models.find((model) => !mayUse(key, model));
  if (refused === undefined) return;
  const message = `The API key may not use ${refused}. Use one of ${key.models?.join(', ')}.`;
  throw new ServiceError('model_not_allowed', message, { param: 'model' });
}

interface SpendingDeps {
  readonly keys: Pick<Mirror<KeyRecord>, 'fresh' | 'peek'>;
  readonly orgs: Pick<Mirror<OrgRecord>, 'lookup'>;
}

export class Spending {
  readonly #deps: SpendingDeps;

  constructor(deps: SpendingDeps) {
    this.#deps = deps;
  }

  /**
   * The members that the bus head of every charged request has.
   * @param now milliseconds since the epoch
   * @throws ServiceError `service_unavailable`
   */
  async chargedCall(
    { id, caller }: Pick<FastifyRequest, 'id' | 'caller'>,
    key: KeyRecord,
    now: number,
  ): Promise<ChargedCall> {
    const { limited, ...markup } = await this.termsOf(key);
    return {
      ...{ request_id: id, org: key.org, key_id: key.id, received_at: now },
      ...(limited ? { limited } : {}),
      ...markup,
      ...caller,
    };
  }

  /**
   * Whether a limit of the org, the key or a key above it counts the key's spending, and the mark-up, from one copy of the
   * org.
   * @throws ServiceError `service_unavailable`
   */
  async termsOf(key: KeyRecord): Promise<{ limited: boolean } & Markup> {
    const { billing, monthly_limit: limit, markup_percent: markup } = await this.#orgOf(key);
    const limited = this.#isKeyLimited(key) || billing === 'prepaid' || limit !== null;
    return { limited, ...toMarkup(markup) };
  }

  #isKeyLimited({ id, org, limit }: KeyRecord): boolean {
    return Boolean(limit) || makersOf(id).some((maker) => this.#mayBeLimited(org, maker));
  }

  /** A maker without a record was revoked: the keys below it may spend nothing. */
  #mayBeLimited(org: string, id: string): boolean {
    const { keys } = this.#deps;
    const maker = keys.peek(keyRecordKey(org, id));
    return !maker || Boolean(maker.limit) || !keys.fresh;
  }

  /**
   * The mark-up of the org, as a member of requests on the bus.
   * @throws ServiceError `service_unavailable`
   */
  async markupOf(key: Pick<KeyRecord, 'org'>): Promise<Markup> {
    return toMarkup((await this.#orgOf(key)).markup_percent);
  }

  /**
   * From memory while that is up to date, else from the bucket.
   * @throws ServiceError `service_unavailable`: a call without the mark-up would cost too little
   */
  async #orgOf({ org }: Pick<KeyRecord, 'org'>): Promise<OrgRecord> {
    const found = await Promise.try(() => this.#deps.orgs.lookup(org)).catch(() => null);
    if (found) return found;
    const message = 'The prices of your org cannot be read at the moment. Retry later.';
    throw new ServiceError('service_unavailable', message, { retryAfterS: 1 });
  }
}

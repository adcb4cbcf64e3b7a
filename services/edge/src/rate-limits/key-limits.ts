// The rate limits that hold for a key: its own, those of the limited keys that made it, and those of its org.
import type { Mirror } from '@switchyard/bus';
import {
  type KeyRecord,
  keyRecordKey,
  makersOf,
  newId,
  type OrgRecord,
  RATE_LIMIT_KINDS,
  type RateLimits,
} from '@switchyard/contracts';

export interface Bound {
  /** Id of the key or org that the limits belong to. */
  readonly id: string;
  readonly of: 'key' | 'org';
  readonly limits: RateLimits;
}

export interface KeyLimitsDeps {
  readonly keys: Pick<Mirror<KeyRecord>, 'peek'>;
  readonly orgs: Pick<Mirror<OrgRecord>, 'peek'>;
  /** Limits of orgs that have none of their own; null: none. */
  readonly defaults: RateLimits | null;
}

/** The id of a key made by a limited one is longer. */
const KEY_ID_LENGTH = newId('key').length;

export class KeyLimits {
  readonly #deps: KeyLimitsDeps;

  constructor(deps: KeyLimitsDeps) {
    this.#deps = deps;
  }

  /** Null: nothing limits the key. */
  of(key: KeyRecord): Bound[] | null {
    const { defaults, orgs, keys } = this.#deps;
    const org = orgs.peek(key.org)?.limits;
    if (!key.limits && !org && !defaults && key.id.length <= KEY_ID_LENGTH) return null;
    const bounds: Bound[] = [];
    if (key.limits) bounds.push({ id: key.id, of: 'key', limits: key.limits });
    for (const id of makersOf(key.id)) {
      const limits = keys.peek(keyRecordKey(key.org, id))?.limits;
      if (limits) bounds.push({ id, of: 'key', limits });
    }
    const ofOrg = withDefaults(org, defaults);
    if (ofOrg) bounds.push({ id: key.org, of: 'org', limits: ofOrg });
    return bounds.length === 0 ? null : bounds;
  }
}

function withDefaults(limits: RateLimits | null | undefined, defaults: RateLimits | null): RateLimits | null {
  if (!limits || !defaults) return limits ?? defaults;
  const both = { ...limits };
  for (const kind of RATE_LIMIT_KINDS) both[kind] ??= defaults[kind];
  return both;
}

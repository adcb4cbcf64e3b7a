// Which keys a key may make and manage: none that may do more than itself. Pure.
import { LIMIT_INTERVALS, type SpendLimit } from './accounts.ts';
import { ID_PREFIXES, newId } from './ids.ts';
import { type KeyRecord, mayUse } from './keys.ts';
import { allows } from './permissions.ts';
import { isWider } from './rate-limits.ts';

/** Keys in one chain: a limited key, a key that it makes, and so on. A longer chain does not fit in an id. */
export const KEY_LINE_MAX = 4;

const RANDOM_LENGTH = newId('key').length - ID_PREFIXES.key.length;
const MADE_BY_LIMITED = new RegExp(
  `^${ID_PREFIXES.key}[\\w-]{${RANDOM_LENGTH}}(_[\\w-]{${RANDOM_LENGTH}})+$`,
);

/**
 * A new id for a key that `maker` makes. Under a limit it continues the maker's id, so that every event, ledger row and
 * request says in whose limits it counts, also after the key was revoked.
 */
export function newKeyId(maker: Pick<KeyRecord, 'id' | 'limit' | 'limits'>): string {
  const id = newId('key');
  if (!maker.limit && !maker.limits && makersOf(maker.id).length === 0) return id;
  return `${maker.id}_${id.slice(ID_PREFIXES.key.length)}`;
}

/** The keys in whose limits this key's use counts beside its own: the first of its line first, its maker last. */
export function makersOf(id: string): string[] {
  const makers: string[] = [];
  for (let rest = id; MADE_BY_LIMITED.test(rest); ) {
    rest = rest.slice(0, -RANDOM_LENGTH - 1);
    makers.unshift(rest);
  }
  return makers;
}

type KeyStrength = 'permissions' | 'models' | 'expires_at' | 'limit' | 'limits';

/** The first field by which a key may do more than another key; null: it is not stronger. */
export function strongerIn(key: KeyRecord, than: KeyRecord): KeyStrength | null {
  if (key.permissions.some((one) => !allows(than.permissions, one))) return 'permissions';
  if (than.models && !key.models?.every((model) => mayUse(than, model))) return 'models';
  if (isLater(key.expires_at, than.expires_at)) return 'expires_at';
  if (!countsWith(key, than)) return than.limits && !than.limit ? 'limits' : 'limit';
  if (isLarger(key.limit, than.limit)) return 'limit';
  return isWider(key.limits, than.limits) ? 'limits' : null;
}

function isLater(end: string | null, than: string | null): boolean {
  return than !== null && (end === null || Date.parse(end) > Date.parse(than));
}

/** Amounts are not enough: a key whose use counts elsewhere is a second budget for its holder. */
function countsWith(key: KeyRecord, than: KeyRecord): boolean {
  if (key.id === than.id) return true;
  const counts = than.limit || than.limits ? than.id : makersOf(than.id).at(-1);
  return counts === undefined || makersOf(key.id).includes(counts);
}

function isLarger(limit: SpendLimit | null | undefined, than: SpendLimit | null | undefined): boolean {
  if (!than) return false;
  if (!limit) return true;
  const isShorter = LIMIT_INTERVALS.indexOf(limit.interval) < LIMIT_INTERVALS.indexOf(than.interval);
  return limit.amount > than.amount || isShorter;
}

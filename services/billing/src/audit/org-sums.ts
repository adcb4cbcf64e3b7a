// What each org has spent, as each collection says. The one thing of an audit whose memory grows: with the number of
// orgs, not of rows.
import { FAMILIES, type Family } from '../store/documents.ts';

export interface OrgSums {
  /** Nano-dollars, all of them. */
  ledger: bigint;
  /** The part of `ledger` whose time the logs still hold. */
  ledgerLogged: bigint;
  logs: bigint;
  credits: bigint;
  /** Lines of all months. */
  statements: bigint;
  readonly hours: Record<Family, bigint>;
  readonly days: Record<Family, bigint>;
}

export class SumsByOrg {
  readonly #orgs = new Map<string, OrgSums>();

  of(org: string): OrgSums {
    let sums = this.#orgs.get(org);
    if (!sums) {
      sums = {
        ...{ ledger: 0n, ledgerLogged: 0n, logs: 0n, credits: 0n, statements: 0n },
        ...{ hours: zeros(), days: zeros() },
      };
      this.#orgs.set(org, sums);
    }
    return sums;
  }

  entries(): [string, OrgSums][] {
    return [...this.#orgs].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  total(field: 'ledger' | 'logs' | 'credits'): bigint {
    let total = 0n;
    for (const sums of this.#orgs.values()) total += sums[field];
    return total;
  }
}

function zeros(): Record<Family, bigint> {
  return Object.fromEntries(FAMILIES.map((family) => [family, 0n])) as Record<Family, bigint>;
}

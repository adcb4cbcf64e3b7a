// The spending of each org according to each collection. Its memory grows with the number of orgs; the rest of an audit
// needs constant memory.
import { FAMILIES, type Family } from '../store/documents.ts';
import type { Findings } from './drift.ts';

interface OrgSums {
  /** In nano-dollars, like the other sums. */
  ledger: bigint;
  /** The part of `ledger` whose time the logs still cover. */
  ledgerLogged: bigint;
  logs: bigint;
  credits: bigint;
  /** Sum of the lines of all months. */
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

/**
 * Checks that sum(ledger) = sum(logs) = sum(statements) = sum(usage), for each org, in each grouping, from hours and
 * from days. Months and years are sums of days, and minutes are read from the ledger itself.
 */
export function checkSums({ sums, findings }: { sums: SumsByOrg; findings: Findings }): void {
  for (const [org, sum] of sums.entries()) {
    const differ = (what: string, is: bigint, ledger: bigint) => {
      if (is === ledger) return;
      const detail = `${is} nano-dollars; the ledger ${ledger}, ${is > ledger ? '+' : ''}${is - ledger}`;
      findings.add({ kind: 'sum_differs', org, subject: `${org} ${what}`, detail });
    };
    differ('logs', sum.logs, sum.ledgerLogged);
    differ('statements', sum.statements, sum.ledger);
    for (const span of ['hours', 'days'] as const)
      for (const family of FAMILIES)
        differ(`usage by ${family}, from ${span}`, sum[span][family], sum.ledger);
  }
}

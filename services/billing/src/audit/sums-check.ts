// sum(ledger) = sum(logs) = sum(statements) = sum(usage), for each org, in each grouping, from hours and from days: months
// and years are sums of days, and minutes are read from the ledger itself.
import { FAMILIES } from '../store/documents.ts';
import type { AuditRun } from './audit-run.ts';

export function checkSums({ sums, findings }: AuditRun): void {
  for (const [org, sum] of sums.entries()) {
    const differ = (what: string, is: bigint, ledger: bigint) => {
      if (is !== ledger)
        findings.add({
          ...{ kind: 'sum_differs', org, subject: `${org} ${what}` },
          detail: `${is} nano-dollars; the ledger ${ledger}, ${is > ledger ? '+' : ''}${is - ledger}`,
        });
    };
    differ('logs', sum.logs, sum.ledgerLogged);
    differ('statements', sum.statements, sum.ledger);
    for (const span of ['hours', 'days'] as const)
      for (const family of FAMILIES)
        differ(`usage by ${family}, from ${span}`, sum[span][family], sum.ledger);
  }
}

// Balances: credits minus spending. With `idle`, also checks that nothing is held and that billing reports the same
// figures.
import { request } from '@switchyard/bus';
import type { AccountObject } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import type { AuditRun } from './audit-run.ts';
import { AuditFailed } from './stream-messages.ts';

/** Maximum number of orgs that billing is asked about while it is busy; with `idle`, all orgs. */
const ORGS_ASKED_MAX = 200;

export interface Balance {
  readonly org: string;
  readonly billing: AccountObject['billing'] | null;
  /** Nano-dollars. */
  readonly credits: bigint;
  readonly spent: bigint;
  /** Dollars; null when billing was not asked or did not answer. */
  readonly held: number | null;
}

/**
 * @param idle nothing is running: any hold, and any figure that differs from the ledger, is a drift
 * @throws AuditFailed when billing does not answer, and `idle`
 */
export async function checkBalances(run: AuditRun, idle: boolean): Promise<Balance[]> {
  const balances: Balance[] = [];
  for (const [org, { credits, ledger: spent }] of run.sums.entries()) {
    const account = idle || balances.length < ORGS_ASKED_MAX ? await ask(run, org) : null;
    if (idle && !account) throw new AuditFailed(`billing does not answer for ${org}`);
    balances.push({
      ...{ org, credits, spent, billing: account?.billing ?? null },
      held: account && idle ? await checkIdle(run, account, credits, spent) : (account?.held ?? null),
    });
  }
  return balances;
}

async function ask({ bus }: AuditRun, org: string): Promise<AccountObject | null> {
  return request(bus, 'account.get', { org, key_id: 'audit' }).catch(() => null);
}

/** Checks again for a while: holds of dead processes expire. */
async function checkIdle(
  run: AuditRun,
  account: AccountObject,
  credits: bigint,
  spent: bigint,
): Promise<number> {
  const { org } = account;
  const figures = { credits: dollarsToJson(credits), spent: dollarsToJson(spent) };
  for (const [name, ledger] of Object.entries(figures) as [keyof typeof figures, number][])
    if (account[name] !== ledger)
      run.findings.add({
        ...{ kind: 'balance_differs', org, subject: `${org} ${name}` },
        detail: `billing says $${account[name]}; the ledger $${ledger}`,
      });
  let { held } = account;
  await run.rechecks.recheck(held === 0 ? [] : [org], async () => {
    held = (await ask(run, org))?.held ?? held;
    return held === 0 ? [] : [org];
  });
  if (held !== 0)
    run.findings.add({ kind: 'hold_left', org, subject: org, detail: `$${held} though nothing runs` });
  return held;
}

// Balances: credits minus what was spent; and, where nothing runs, nothing held and the same figures from billing itself.
import { request } from '@switchyard/bus';
import type { AccountObject } from '@switchyard/contracts';
import { dollarsToJson } from '@switchyard/money';
import type { AuditRun } from './audit-run.ts';
import { CannotLook } from './stream-messages.ts';

/** Orgs that billing is asked about while it works; where nothing runs, all of them. */
const ORGS_ASKED_MAX = 200;

export interface Balance {
  readonly org: string;
  readonly billing: AccountObject['billing'] | null;
  /** Nano-dollars. */
  readonly credits: bigint;
  readonly spent: bigint;
  /** Dollars; null: billing was not asked, or did not answer. */
  readonly held: number | null;
}

/**
 * @param idle nothing runs: whatever is held, and any figure that is not the ledger's, is a drift
 * @throws CannotLook when billing does not answer, and `idle`
 */
export async function checkBalances(run: AuditRun, idle: boolean): Promise<Balance[]> {
  const balances: Balance[] = [];
  for (const [org, { credits, ledger: spent }] of run.sums.entries()) {
    const account = idle || balances.length < ORGS_ASKED_MAX ? await ask(run, org) : null;
    if (idle && !account) throw new CannotLook(`billing does not say what ${org} holds`);
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

/** Holds of processes that died end by themselves: they are looked at again for a while. */
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
  await run.patience.lookAgain(held === 0 ? [] : [org], async () => {
    held = (await ask(run, org))?.held ?? held;
    return held === 0 ? [] : [org];
  });
  if (held !== 0)
    run.findings.add({ kind: 'hold_left', org, subject: org, detail: `$${held} though nothing runs` });
  return held;
}

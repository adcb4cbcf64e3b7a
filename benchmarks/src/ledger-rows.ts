// Rows of a ledger that was used for a year: calls of one org, spread evenly over time, keys, models and statuses.
import { LOG_STATUSES } from '@switchyard/contracts';
import type { LedgerRow } from '../../services/billing/src/store/documents.ts';
import type { Store } from '../../services/billing/src/store/store.ts';

const YEAR_MS = 365 * 86_400_000;
/** The year ends here. */
const NOW = Date.UTC(2026, 10, 21, 12);
const BATCH = 5_000;
const MODELS = 12;
const KEYS = 20;
/** No partition of billing has this name, so rows of a running billing keep their numbers. */
const PARTITION = 'bench';

export async function insertRows({ ledger }: Pick<Store, 'ledger'>, count: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - first) }, (_, i) => rowOf(first + i, count));
    await ledger.insertMany(rows, { ordered: false });
  }
}

/** The same for the same number. */
function rowOf(i: number, count: number): LedgerRow {
  const model = `acme/m${i % MODELS}`;
  return {
    ...{ _id: `req_${i}`, p: PARTITION, n: BigInt(i + 1), kind: 'call', org: 'org_bench' },
    at: new Date(NOW - YEAR_MS + Math.floor((i / count) * YEAR_MS)),
    ...{ key: `key_${i % KEYS}`, type: 'language', model, maker: 'acme', computer: null },
    status: LOG_STATUSES[i % 11 === 0 ? 2 : 0],
    ...{ month: '', line: '' }, // no statement is read
    ...{ calls: 1n, cost: BigInt((i * 7_919) % 1_000_000), quantities: { input_tokens: 10_000n } },
  };
}

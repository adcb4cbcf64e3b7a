// The ledger as a test reads it: every charge, and its net amount after voids and refunds.
import { MongoClient } from 'mongodb';

export interface Charged {
  readonly kind: 'call' | 'video';
  /** Number of rows that charge it: at most one. */
  charges: number;
  /** Nano-dollars after voids and refunds. */
  net: bigint;
}

/** Keyed by request id, or by video id. The audit checks the rows of computers and credits. */
export async function readCharges(mongoUrl: string): Promise<Map<string, Charged>> {
  const client = await new MongoClient(mongoUrl, { useBigInt64: true }).connect();
  try {
    const charges = new Map<string, Charged>();
    for await (const row of client.db().collection('ledger').find({})) {
      const [kind, id] = nameOf(row);
      if (kind === null) continue;
      const charged = charges.get(id) ?? { kind, charges: 0, net: 0n };
      charges.set(id, charged);
      if (row.kind === kind) charged.charges += 1;
      charged.net += row.cost as bigint;
    }
    return charges;
  } finally {
    await client.close();
  }
}

function nameOf(row: Record<string, unknown>): ['call' | 'video' | null, string] {
  const withoutEnd = (id: unknown) => String(id).replace(/:charge$/, '');
  switch (row.kind) {
    case 'call':
      return ['call', String(row._id)];
    case 'void':
      return ['call', String(row.voids)];
    case 'video':
      return ['video', withoutEnd(row._id)];
    case 'refund':
      return ['video', withoutEnd(row.refunds)];
    default:
      return [null, ''];
  }
}

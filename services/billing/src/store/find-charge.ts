// The ledger row that charges a request.
import type { LedgerRow } from './documents.ts';
import type { Store } from './store.ts';

/** Finds a charge of an org by the id of its event, or by that of its request if the two differ. */
export async function findCharge({ ledger }: Store, org: string, id: string): Promise<LedgerRow | null> {
  return (await ledger.findOne({ _id: id, org })) ?? ledger.findOne({ request_id: id, org });
}

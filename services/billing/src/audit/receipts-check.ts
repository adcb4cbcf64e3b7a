// Receipts against the ledger: what a caller was told that an answer costs is there, once, for that org, at that cost.
// docs/decisions/2026-11-21-receipts.md
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@switchyard/bus';
import { RECEIPTS_STREAM, receiptBatch } from '@switchyard/contracts';
import { answered } from '../store/answered.ts';
import type { Store } from '../store/store.ts';
import type { Drift } from './drift.ts';
import { messagesOf } from './stream-messages.ts';

/** Ids that are looked up together. */
const IDS_PER_LOOKUP = 2_000;

/**
 * Messages that are read together, and so many more that wait meanwhile. An edge that was busy, or had waited for
 * JetStream, puts 5,000 answers into one, some 250 KB; NATS takes a megabyte.
 */
export const RECEIPT_MESSAGES_PER_BATCH = 16;

/**
 * The messages of the stream of receipts between two sequences, both included.
 * @throws CannotLook when the stream stops answering; JetStreamError, TimeoutError
 */
export function receiptMessages(bus: Bus, first: number, last: number): AsyncGenerator<JsMsg[]> {
  return messagesOf(bus, { stream: RECEIPTS_STREAM, first, last, perBatch: RECEIPT_MESSAGES_PER_BATCH });
}

export interface Receipt {
  readonly org: string;
  /** The event that charges the answer. */
  readonly event: string;
  /** Nano-dollars. */
  readonly cost: bigint;
}

/** A message that is no receipt is passed over: nothing is booked by one. */
export function receiptsOf(message: JsMsg): Receipt[] {
  const batch = receiptBatch.safeParse(jsonOf(message));
  if (!batch.success) return [];
  return Object.entries(batch.data.answers).flatMap(([org, answers]) =>
    answers.map(([event, cost]) => ({ org, event, cost: BigInt(cost) })),
  );
}

function jsonOf(message: JsMsg): unknown {
  try {
    return message.json();
  } catch {
    return null;
  }
}

export interface Faulty {
  readonly receipt: Receipt;
  readonly drift: Drift;
}

/** Those of the receipts that the ledger does not bear out. */
export async function faultyAmong({ ledger }: Store, receipts: readonly Receipt[]): Promise<Faulty[]> {
  const faulty: Faulty[] = [];
  for (let i = 0; i < receipts.length; i += IDS_PER_LOOKUP) {
    const some = receipts.slice(i, i + IDS_PER_LOOKUP);
    const query = { _id: { $in: some.map(({ event }) => event) } };
    const found = ledger.find(query, { projection: { org: 1, cost: 1, voided_cost: 1 } });
    const rows = new Map((await answered(found.toArray())).map((row) => [row._id, row]));
    for (const receipt of some) {
      const drift = driftOf(receipt, rows.get(receipt.event));
      if (drift) faulty.push({ receipt, drift });
    }
  }
  return faulty;
}

/** A call whose void came before its charge is there at 0, with what it would have cost. */
function driftOf(
  { org, event: subject, cost }: Receipt,
  row: { org: string; cost: bigint; voided_cost?: bigint } | undefined,
): Drift | null {
  const told = `its caller was told ${cost} nano-dollars`;
  if (!row) return { kind: 'answer_not_booked', org, subject, detail: told };
  const booked = row.voided_cost ?? row.cost;
  if (row.org === org && booked === cost) return null;
  return {
    kind: 'answer_differs',
    org,
    subject,
    detail: `${told}; the ledger says ${booked}, of ${row.org}`,
  };
}

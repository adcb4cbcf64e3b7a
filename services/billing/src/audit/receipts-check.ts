// Compares receipts with the ledger: the cost that a caller received must be booked once, for that org, in that amount.
// docs/decisions/2026-11-21-receipts.md
import type { JsMsg } from '@nats-io/jetstream';
import { type Bus, ensureReceiptsStream } from '@switchyard/bus';
import { RECEIPTS_STREAM, receiptBatch } from '@switchyard/contracts';
import { answered } from '../store/answered.ts';
import type { Store } from '../store/store.ts';
import type { AuditRun } from './audit-run.ts';
import type { Drift } from './drift.ts';
import { jsonOf, messagesOf } from './stream-messages.ts';

/** Number of ids per lookup. */
const IDS_PER_LOOKUP = 2_000;

/**
 * Number of messages per batch; as many again are buffered. A busy edge, or one that waited for JetStream, puts 5,000
 * answers into one message, some 250 KB; NATS accepts one megabyte.
 */
export const RECEIPT_MESSAGES_PER_BATCH = 16;

/**
 * The messages of the stream of receipts between two sequences, both included.
 * @throws AuditFailed when the stream stops answering; JetStreamError, TimeoutError
 */
export function receiptMessages(bus: Bus, first: number, last: number): AsyncGenerator<JsMsg[]> {
  return messagesOf(bus, { stream: RECEIPTS_STREAM, first, last, perBatch: RECEIPT_MESSAGES_PER_BATCH });
}

export interface Receipt {
  readonly org: string;
  /** Id of the event that charges the answer. */
  readonly event: string;
  /** Nano-dollars. */
  readonly cost: bigint;
}

/** Skips a message that is not a receipt: receipts book nothing. */
export function receiptsOf(message: JsMsg): Receipt[] {
  const batch = receiptBatch.safeParse(jsonOf(message));
  if (!batch.success) return [];
  return Object.entries(batch.data.answers).flatMap(([org, answers]) =>
    answers.map(([event, cost]) => ({ org, event, cost: BigInt(cost) })),
  );
}

export interface Faulty {
  readonly receipt: Receipt;
  readonly drift: Drift;
}

/** Returns the receipts that do not match the ledger. */
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

/** A call whose void arrived before its charge is booked at 0, with the original cost beside it. */
function driftOf(
  { org, event: subject, cost }: Receipt,
  row: { org: string; cost: bigint; voided_cost?: bigint } | undefined,
): Drift | null {
  const stated = `its caller received the cost ${cost} nano-dollars`;
  if (!row) return { kind: 'answer_not_booked', org, subject, detail: stated };
  const booked = row.voided_cost ?? row.cost;
  if (row.org === org && booked === cost) return null;
  return {
    kind: 'answer_differs',
    org,
    subject,
    detail: `${stated}; the ledger says ${booked}, of ${row.org}`,
  };
}

export interface AnswerFacts {
  /** Number of answers with a cost that were looked up in the ledger. */
  readonly compared: number;
}

/** Sequence of the last batch of receipts. The events of its answers are already in the stream. */
export async function lastReceipts(bus: Bus): Promise<number> {
  await ensureReceiptsStream(bus);
  return (await bus.jsm.streams.info(RECEIPTS_STREAM)).state.last_seq;
}

/**
 * Compares all receipts in the stream with the ledger.
 * @param last the last batch to check: every event that was in the stream at that time is booked
 * @throws AuditFailed when the stream stops answering
 */
export async function passReceipts(
  { bus, store, findings, rechecks }: AuditRun,
  last: number,
): Promise<AnswerFacts> {
  let compared = 0;
  for await (const messages of receiptMessages(bus, 1, last))
    for (const message of messages) {
      const receipts = receiptsOf(message);
      compared += receipts.length;
      await rechecks.recheck<Receipt>(receipts, async (open, isLast) => {
        const faulty = await faultyAmong(store, open);
        if (isLast) for (const { drift } of faulty) findings.add(drift);
        return faulty.map(({ receipt }) => receipt);
      });
    }
  return { compared };
}

// All receipts that the stream has, against the ledger.
import { ensureReceiptsStream } from '@switchyard/bus';
import { RECEIPTS_STREAM } from '@switchyard/contracts';
import type { AuditRun } from './audit-run.ts';
import { faultyAmong, type Receipt, receiptMessages, receiptsOf } from './receipts-check.ts';

export interface AnswerFacts {
  /** Answers that said what they cost, and were looked up in the ledger. */
  readonly compared: number;
}

/** The last batch of receipts: what it says is in the stream of events by now. */
export async function lastReceipts({ bus }: Pick<AuditRun, 'bus'>): Promise<number> {
  await ensureReceiptsStream(bus);
  return (await bus.jsm.streams.info(RECEIPTS_STREAM)).state.last_seq;
}

/**
 * @param last the last batch that is looked at: all events that were in the stream when it was are booked
 * @throws CannotLook when the stream stops answering
 */
export async function passReceipts(run: AuditRun, last: number): Promise<AnswerFacts> {
  const { bus, store, findings } = run;
  let compared = 0;
  for await (const messages of receiptMessages(bus, 1, last))
    for (const message of messages) {
      const receipts = receiptsOf(message);
      compared += receipts.length;
      await run.patience.lookAgain<Receipt>(receipts, async (open, isLast) => {
        const faulty = await faultyAmong(store, open);
        if (isLast) for (const { drift } of faulty) findings.add(drift);
        return faulty.map(({ receipt }) => receipt);
      });
    }
  return { compared };
}

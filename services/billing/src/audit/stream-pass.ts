// The retained part of the stream: checks each event against its ledger row, and each ledger row of that time against
// the events.
import { EVENTS_STREAM } from '@switchyard/contracts';
import { isDuplicateKeyError } from '../store/mongo-errors.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import { type AuditRun, isWithin } from './audit-run.ts';
import { inBatches, readById } from './batches.ts';
import { checkEvents } from './event-rows.ts';
import { messagesOf } from './stream-messages.ts';

/** An emitter's clock may be ahead of the stream's clock by this much. */
const SKEW_MS = 5_000;

export interface StreamFacts {
  readonly events: number;
  /** Number of events that are in the ledger, or should be. */
  readonly bookable: number;
  /** Number of messages that billing stored as rejected. */
  readonly rejected: number;
  /** From this time on every ledger row must have its event; null: the stream is empty. */
  readonly since: Date | null;
  /** Number of ledger rows of that time. */
  readonly rows: number;
}

/** @throws AuditFailed when the stream stops answering. */
export async function passStream(run: AuditRun): Promise<StreamFacts> {
  let events = 0;
  let bookable = 0;
  let rejected = 0;
  const { bus, lastSeq: last } = run;
  for await (const messages of messagesOf(bus, { stream: EVENTS_STREAM, first: 1, last })) {
    events += messages.length;
    const expected = await checkEvents(run, messages);
    rejected += expected.rejected;
    bookable += expected.rows.length;
    await keep(run, expected.rows);
  }
  const since = await retainedSince(run);
  const rows = since === null ? 0 : await checkRowsSince(run, since);
  return { events, bookable, rejected, since, rows };
}

/** Stores rows that were rebuilt from events, so that ledger rows can be looked up among them. */
async function keep(
  { work }: AuditRun,
  rows: Awaited<ReturnType<typeof checkEvents>>['rows'],
): Promise<void> {
  if (rows.length === 0) return;
  const number = (seq: number) => ({ p: FIRST_PARTITION, n: BigInt(seq), month: '', line: '' });
  const documents = rows.map(({ row, seq }) => ({ ...row, ...number(seq) }));
  await work.ledger.insertMany(documents, { ordered: false }).catch((error: unknown) => {
    if (!isDuplicateKeyError(error)) throw error; // an event may be in the stream twice
  });
}

/** Rows after this time must have an event. Read after the pass, because old messages expire meanwhile. */
async function retainedSince({ bus }: AuditRun): Promise<Date | null> {
  const { state } = await bus.jsm.streams.info(EVENTS_STREAM);
  return state.messages === 0 ? null : new Date(Date.parse(state.first_ts) + SKEW_MS);
}

async function checkRowsSince(run: AuditRun, since: Date): Promise<number> {
  const { store, work, findings } = run;
  const projection = { org: 1, kind: 1, cost: 1, at: 1, p: 1, n: 1 } as const;
  const retained = store.ledger.find(
    { at: { $gte: since }, kind: { $ne: 'fence' as const } },
    { projection },
  );
  let count = 0;
  for await (const all of inBatches(retained)) {
    const rows = all.filter((row) => isWithin(run, row));
    count += rows.length;
    const ids = rows.map(({ _id }) => _id);
    const expected = await readById(work.ledger.find({ _id: { $in: ids } }, { projection: { _id: 1 } }));
    for (const { _id: subject, org, kind, cost, at } of rows)
      if (!expected.has(subject))
        findings.add({
          ...{ kind: 'row_without_event', org, subject },
          detail: `${kind} at ${cost} nano-dollars, ${at.toISOString()}`,
        });
  }
  return count;
}

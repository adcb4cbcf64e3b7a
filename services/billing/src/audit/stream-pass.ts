// The retained part of the stream: each event against its ledger row, and, the other way round, each ledger row of that
// time against the events.
import { EVENTS_STREAM } from '@switchyard/contracts';
import { metDuplicateKey } from '../store/mongo-errors.ts';
import { FIRST_PARTITION } from '../store/partition.ts';
import { type AuditRun, isWithin } from './audit-run.ts';
import { byId, inBatches } from './batches.ts';
import { checkEvents } from './event-rows.ts';
import { messagesOf } from './stream-messages.ts';

/** The clock of an emitter may be ahead of the stream's by as much. */
const SKEW_MS = 5_000;

export interface StreamFacts {
  readonly events: number;
  /** Events that are in the ledger, or should be. */
  readonly charging: number;
  /** Messages that billing could not book and keeps among the rejected. */
  readonly rejected: number;
  /** From here on every ledger row must have its event; null: the stream is empty. */
  readonly since: Date | null;
  /** Ledger rows of that time. */
  readonly rows: number;
}

/** @throws CannotLook when the stream stops answering. */
export async function passStream(run: AuditRun): Promise<StreamFacts> {
  let events = 0;
  let charging = 0;
  let rejected = 0;
  const { bus, lastSeq: last } = run;
  for await (const messages of messagesOf(bus, { stream: EVENTS_STREAM, first: 1, last })) {
    events += messages.length;
    const anew = await checkEvents(run, messages);
    rejected += anew.rejected;
    charging += anew.rows.length;
    await keep(run, anew.rows);
  }
  const since = await retainedSince(run);
  const rows = since === null ? 0 : await checkRowsSince(run, since);
  return { events, charging, rejected, since, rows };
}

/** Rows built anew from events, so that the ledger's rows can be looked up among them. */
async function keep(
  { work }: AuditRun,
  rows: Awaited<ReturnType<typeof checkEvents>>['rows'],
): Promise<void> {
  if (rows.length === 0) return;
  const documents = rows.map(({ row, seq }) => ({ ...row, p: FIRST_PARTITION, n: BigInt(seq) }));
  await work.ledger.insertMany(documents, { ordered: false }).catch((error: unknown) => {
    if (!metDuplicateKey(error)) throw error; // an event may be in the stream twice
  });
}

/** What is newer has come to the stream since its first message did: read afterwards, as old messages go meanwhile. */
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
    const anew = await byId(work.ledger.find({ _id: { $in: ids } }, { projection: { _id: 1 } }));
    for (const { _id: subject, org, kind, cost, at } of rows)
      if (!anew.has(subject))
        findings.add({
          ...{ kind: 'row_without_event', org, subject },
          detail: `${kind} at ${cost} nano-dollars, ${at.toISOString()}`,
        });
  }
  return count;
}

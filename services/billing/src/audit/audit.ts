// One audit: everything that billing keeps, built anew from what it must follow from, and compared. Billing goes on
// meanwhile: all is compared as it was at one ledger number, and what seems wrong is looked at again.
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { Db } from 'mongodb';
import { type Layout, readLayout } from '../partitions/layout.ts';
import { LedgerOrder } from '../partitions/ledger-order.ts';
import { namesEver, partitionsOf } from '../partitions/partition.ts';
import { HOUR_MS } from '../store/buckets.ts';
import { logsCompleteFrom } from '../store/log-retention.ts';
import { openStore, type Store } from '../store/store.ts';
import { type AggregateFacts, passAggregates } from './aggregates-pass.ts';
import type { AuditRun } from './audit-run.ts';
import { type Balance, checkBalances } from './balances-check.ts';
import { type Drift, Findings } from './drift.ts';
import { type LedgerFacts, passLedger } from './ledger-pass.ts';
import { checkLogs } from './log-rows.ts';
import { SumsByOrg } from './org-sums.ts';
import { Patience } from './patience.ts';
import { type AnswerFacts, lastReceipts, passReceipts } from './receipts-pass.ts';
import { CannotLook } from './stream-messages.ts';
import { passStream, type StreamFacts } from './stream-pass.ts';
import { checkSums } from './sums-check.ts';

/** How long billing may take to book what is in the stream when the audit begins. */
const BOOKED_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 100;
/** How much further the removal of old logs may get during one audit. */
const REMOVED_MEANWHILE_MS = 6 * HOUR_MS;

export interface AuditOptions {
  readonly bus: Bus;
  readonly store: Store;
  /** An empty database on the same server, for what is built anew. */
  readonly workDb: Db;
  /** Nothing runs: a hold that is left is a drift. */
  readonly idle?: boolean;
  /** How often what seems wrong is looked at before it counts. */
  readonly looksMax?: number;
  /** Told what is being looked at. */
  readonly onStep?: (step: string) => void;
}

export interface AuditReport {
  readonly began_at: Date;
  readonly seconds: number;
  /** By partition, the number of the last ledger row that was audited. */
  readonly up_to: Readonly<Record<string, bigint>>;
  readonly ledger: LedgerFacts;
  readonly hours: AggregateFacts;
  readonly days: AggregateFacts;
  /** Lines of statements. */
  readonly lines: AggregateFacts;
  readonly stream: StreamFacts;
  readonly answers: AnswerFacts;
  readonly logs: { readonly rows: number; readonly since: Date };
  /** Nano-dollars of all orgs. */
  readonly totals: { readonly ledger: bigint; readonly logs: bigint; readonly credits: bigint };
  readonly balances: readonly Balance[];
  readonly drifts: number;
  readonly named: readonly Drift[];
}

/** @throws CannotLook, and the errors of the drivers, when something does not let itself be looked at. */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const { bus, store, workDb, idle = false, onStep = () => {} } = options;
  const began = new Date();
  const start = performance.now();
  onStep('waiting until what is in the stream is booked');
  const lastBatch = await lastReceipts({ bus }); // the events of all that were answered by now are in the stream
  const layout = await readLayout(store);
  const bookedSeq = await untilBooked(bus, layout);
  const run: AuditRun = {
    ...{ bus, store, bookedSeq },
    work: openStore(workDb),
    findings: new Findings(),
    sums: new SumsByOrg(),
    patience: new Patience(options.looksMax),
    upTo: await lastNumbers(store, layout),
    order: await LedgerOrder.read(store, layout),
    logsSince: await logsWholeFrom(store),
    lastSeq: (await bus.jsm.streams.info(EVENTS_STREAM)).state.last_seq,
  };
  onStep('the ledger, and building the aggregates anew');
  const ledger = await passLedger(run);
  onStep('the aggregates, and the lines of statements');
  const [hours, days] = [await passAggregates(run, 'hours'), await passAggregates(run, 'days')];
  const lines = await passAggregates(run, 'lines');
  onStep('the logs');
  const logRows = await checkLogs(run);
  onStep('the events');
  const stream = await passStream(run);
  onStep('the answers');
  const answers = await passReceipts(run, lastBatch);
  onStep('sums and balances');
  checkSums(run);
  const balances = await checkBalances(run, idle);
  await assertUnsplit(store, layout);
  const { findings, sums, upTo, logsSince } = run;
  return {
    ...{ began_at: began, seconds: (performance.now() - start) / 1_000, up_to: Object.fromEntries(upTo) },
    ...{ ledger, hours, days, lines, stream, answers, balances },
    logs: { rows: logRows, since: logsSince },
    totals: { ledger: sums.total('ledger'), logs: sums.total('logs'), credits: sums.total('credits') },
    ...{ drifts: findings.count, named: findings.named },
  };
}

/** From when on every log row is there, and will be for as long as the audit takes: old ones are removed each hour. */
async function logsWholeFrom(store: Store): Promise<Date> {
  const whole = await logsCompleteFrom(store);
  return whole ? new Date(whole.getTime() + REMOVED_MEANWHILE_MS) : new Date(0);
}

/** What was booked in partitions that there were not at the beginning was compared with nothing. */
async function assertUnsplit(store: Store, { epoch, moving_to }: Layout): Promise<void> {
  const now = await readLayout(store);
  if (now.epoch !== epoch || now.moving_to !== moving_to)
    throw new CannotLook('billing was split anew meanwhile: look again');
}

async function lastNumbers({ ledger }: Store, layout: Layout): Promise<Map<string, bigint>> {
  const last = new Map<string, bigint>();
  for (const p of namesEver(layout))
    last.set(p, (await ledger.find({ p }).sort({ n: -1 }).limit(1).next())?.n ?? 0n);
  return last;
}

/** Waits until billing has acknowledged all that is in the stream now; returns the last sequence of it. */
async function untilBooked(bus: Bus, layout: Layout): Promise<number> {
  const { last_seq: last } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
  const deadline = performance.now() + BOOKED_WITHIN_MS;
  for (const { consumer } of partitionsOf(layout))
    for (;;) {
      const info = await bus.jsm.consumers.info(EVENTS_STREAM, consumer);
      const { num_pending: waiting, num_ack_pending: onTheirWay } = info;
      if ((waiting === 0 && onTheirWay === 0) || info.ack_floor.stream_seq >= last) break;
      if (performance.now() > deadline)
        throw new CannotLook(
          `billing has not booked ${waiting + onTheirWay} events of the stream for ${BOOKED_WITHIN_MS / 1_000} s: is it running?`,
        );
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  return last;
}

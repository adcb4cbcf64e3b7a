// One audit: rebuilds everything that billing stores from its sources, and compares. Billing keeps running: the audit
// compares everything as of one ledger number, and checks each apparent drift again.
import type { Bus } from '@switchyard/bus';
import { EVENTS_STREAM } from '@switchyard/contracts';
import type { Db } from 'mongodb';
import { acknowledgedUpTo } from '../consumer.ts';
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
import { checkSums, SumsByOrg } from './org-sums.ts';
import { type AnswerFacts, lastReceipts, passReceipts } from './receipts-check.ts';
import { Rechecks } from './rechecks.ts';
import { AuditFailed } from './stream-messages.ts';
import { passStream, type StreamFacts } from './stream-pass.ts';

/** Time limit for billing to book the events that are in the stream when the audit begins. */
const BOOKED_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 100;
/** How much further the retention of logs may advance during one audit. */
const REMOVED_MEANWHILE_MS = 6 * HOUR_MS;

interface AuditOptions {
  readonly bus: Bus;
  readonly store: Store;
  /** An empty database on the same server, for rebuilt data. */
  readonly workDb: Db;
  /** Nothing is running: any remaining hold is a drift. */
  readonly idle?: boolean;
  /** How often an apparent drift is checked before it counts. */
  readonly checksMax?: number;
  /** Called with the name of each step. */
  readonly onStep?: (step: string) => void;
}

export interface AuditReport {
  readonly began_at: Date;
  readonly seconds: number;
  /** Number of the last audited ledger row of each partition. */
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

/** @throws AuditFailed, and the errors of the drivers, when the data cannot be read */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const { bus, store, workDb, idle = false, onStep = () => {} } = options;
  const began = new Date();
  const start = performance.now();
  onStep('waiting until the stream is booked');
  const lastBatch = await lastReceipts(bus); // the events of these answers are already in the stream
  const layout = await readLayout(store);
  const bookedSeq = await untilBooked(bus, layout);
  const run: AuditRun = {
    ...{ bus, store, bookedSeq },
    work: openStore(workDb),
    findings: new Findings(),
    sums: new SumsByOrg(),
    rechecks: new Rechecks(options.checksMax),
    upTo: await lastNumbers(store, layout),
    order: await LedgerOrder.read(store, layout),
    logsSince: await logsCompleteSince(store),
    lastSeq: (await bus.jsm.streams.info(EVENTS_STREAM)).state.last_seq,
  };
  onStep('the ledger, and rebuilding the aggregates');
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

/** Time from which the logs are complete now and until the end of the audit: retention removes old rows every hour. */
async function logsCompleteSince(store: Store): Promise<Date> {
  const complete = await logsCompleteFrom(store);
  return complete ? new Date(complete.getTime() + REMOVED_MEANWHILE_MS) : new Date(0);
}

/** A split during the audit creates partitions whose rows were not compared. */
async function assertUnsplit(store: Store, { epoch, moving_to }: Layout): Promise<void> {
  const now = await readLayout(store);
  if (now.epoch !== epoch || now.moving_to !== moving_to)
    throw new AuditFailed('billing was split during the audit: run it again');
}

async function lastNumbers({ ledger }: Store, layout: Layout): Promise<Map<string, bigint>> {
  const last = new Map<string, bigint>();
  for (const p of namesEver(layout))
    last.set(p, (await ledger.find({ p }).sort({ n: -1 }).limit(1).next())?.n ?? 0n);
  return last;
}

/** Waits until billing has acknowledged every event now in the stream. Returns the last sequence. */
async function untilBooked(bus: Bus, layout: Layout): Promise<number> {
  const { last_seq: last } = (await bus.jsm.streams.info(EVENTS_STREAM)).state;
  const deadline = performance.now() + BOOKED_WITHIN_MS;
  for (const { consumer } of partitionsOf(layout)) {
    const hasBooked = acknowledgedUpTo(last);
    for (;;) {
      const info = await bus.jsm.consumers.info(EVENTS_STREAM, consumer);
      if (hasBooked(info)) break;
      if (performance.now() > deadline)
        throw new AuditFailed(
          `billing has not booked ${info.num_pending + info.num_ack_pending} events of the stream for ${BOOKED_WITHIN_MS / 1_000} s: is it running?`,
        );
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }
  return last;
}

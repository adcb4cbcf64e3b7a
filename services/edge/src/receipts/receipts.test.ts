// Receipts on a real nats-server: each answer with a cost is handed over once, whatever JetStream does.
import { type Bus, connectBus, ensureReceiptsStream } from '@switchyard/bus';
import {
  RECEIPTS_PER_BATCH_MAX,
  RECEIPTS_STREAM,
  type ReceiptBatch,
  receiptBatch,
} from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock, startNats, type TestServer } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Receipts } from './receipts.ts';
import { receiptsGauges } from './receipts-gauges.ts';

const SECOND_MS = 1_000;
let nats: TestServer;
let bus: Bus;
let clock: FakeClock;
let receipts: Receipts;
/** Logged warnings and errors. */
let logged: object[];
const capturingLogger = Object.assign(makeLogger('edge', 'silent'), {
  warn: (fields: object) => logged.push(fields),
  error: (fields: object) => logged.push(fields),
});

beforeEach(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'edge', logger: makeLogger('edge', 'silent') });
  await ensureReceiptsStream(bus);
  clock = new FakeClock();
  logged = [];
  receipts = new Receipts({ bus, clock, logger: capturingLogger });
});
afterEach(async () => {
  await receipts.close();
  await bus.close();
  await nats.stop();
});

async function handedOver(): Promise<ReceiptBatch[]> {
  const batches: ReceiptBatch[] = [];
  const { state } = await bus.jsm.streams.info(RECEIPTS_STREAM);
  for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq += 1) {
    const message = await bus.jsm.streams.getMessage(RECEIPTS_STREAM, { seq });
    if (message) batches.push(receiptBatch.parse(message.json()));
  }
  return batches;
}

test('the receipts of one second go in one batch, by org, in nano-dollars', async () => {
  receipts.stateCost('org_a', 'req_1', '0.000001234');
  receipts.stateCost('org_b', 'req_2', '0');
  receipts.stateCost('org_a', 'vid_1:charge', '1.5');
  const batches = () => {
    clock.advance(SECOND_MS); // retries if JetStream did not store them in time
    return handedOver().catch(() => []);
  };
  await expect.poll(batches).toHaveLength(1);
  expect(await handedOver()).toEqual([
    {
      edge: bus.instance,
      number: 1,
      answers: {
        org_a: [
          ['req_1', '1234'],
          ['vid_1:charge', '1500000000'],
        ],
        org_b: [['req_2', '0']],
      },
    },
  ]);
});

test('a stopping edge hands over the remaining receipts; one without receipts hands over nothing', async () => {
  clock.advance(SECOND_MS);
  receipts.stateCost('org_a', 'req_1', '0.1');
  await receipts.close();
  expect((await handedOver()).map(({ number }) => number)).toEqual([1]);
});

test('more receipts than fit into one message go in several', async () => {
  for (let i = 0; i < 2 * RECEIPTS_PER_BATCH_MAX + 1; i += 1)
    receipts.stateCost('org_a', `req_${i}`, '0.000000001');
  await receipts.close();
  const batches = await handedOver();
  expect(batches.map(({ number }) => number)).toEqual([1, 2, 3]);
  const ids = batches.flatMap(({ answers }) => answers.org_a?.map(([id]) => id));
  expect(new Set(ids).size).toBe(2 * RECEIPTS_PER_BATCH_MAX + 1);
});

test('receipts that JetStream refuses wait, and are handed over when it accepts them', async () => {
  await bus.jsm.streams.update(RECEIPTS_STREAM, { max_msg_size: 1 }); // JetStream refuses everything
  receipts.stateCost('org_a', 'req_1', '0.1');
  clock.advance(SECOND_MS);
  await expect.poll(() => logged).toHaveLength(1);
  receipts.stateCost('org_a', 'req_2', '0.1');
  expect(await handedOver()).toEqual([]);
  await bus.jsm.streams.update(RECEIPTS_STREAM, { max_msg_size: -1 });
  await receipts.close();
  const batches = await handedOver();
  expect(batches.map(({ number, answers }) => [number, answers.org_a?.map(([id]) => id)])).toEqual([
    [1, ['req_1']],
    [2, ['req_2']],
  ]);
});

test('receipts that a stopping edge cannot hand over are counted as lost, and their number is logged', async () => {
  await bus.close();
  receipts.stateCost('org_a', 'req_1', '0.1');
  receipts.stateCost('org_b', 'req_2', '0.1');
  await receipts.close();
  expect(receipts.dropped).toBe(2);
  expect(logged).toContainEqual(expect.objectContaining({ receipts: 2 }));
});

test('a stopping edge waits 3 s for a JetStream that does not answer', async () => {
  process.kill(nats.pid, 'SIGSTOP');
  receipts.stateCost('org_a', 'req_1', '0.1');
  clock.advance(SECOND_MS); // this batch is sent and not answered
  const closed = receipts.close();
  clock.advance(3 * SECOND_MS);
  await closed;
  process.kill(nats.pid, 'SIGCONT');
  expect(logged).toEqual([{ receipts: 1 }]); // and no failed publication: its own timeout is longer
});

test('the metrics count answers, waiting receipts, and those dropped for lack of room', async () => {
  const metrics = new Registry();
  receiptsGauges(metrics, receipts);
  for (let i = 0; i < 100_002; i += 1) receipts.stateCost('org_a', `req_${i}`, '0');
  const shown = await metrics.metrics();
  expect(shown).toContain('switchyard_edge_answers_total 100002\n');
  expect(shown).toContain('switchyard_edge_receipts_waiting 100000\n');
  expect(shown).toContain('switchyard_edge_receipts_dropped_total 2\n');
});

// Receipts on a real nats-server: only a few large messages are in memory at a time.
import { type Bus, connectBus, ensureReceiptsStream } from '@switchyard/bus';
import { RECEIPTS_STREAM, receiptsSubject } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { startNats, type TestServer } from '@switchyard/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RECEIPT_MESSAGES_PER_BATCH, receiptMessages, receiptsOf } from './receipts-check.ts';

const BATCHES = 5 * RECEIPT_MESSAGES_PER_BATCH + 3;
let nats: TestServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'billing', logger: makeLogger('test', 'silent') });
  await ensureReceiptsStream(bus);
});

afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

/** Number of messages that the server has sent to the reader of the stream. */
async function sent(): Promise<number> {
  const [consumer] = await bus.jsm.consumers.list(RECEIPTS_STREAM).next();
  return consumer?.delivered.consumer_seq ?? 0;
}

test('a reader has only a few messages in memory, and gets each of them once', async () => {
  for (let number = 1; number <= BATCHES; number += 1) {
    const batch = { edge: 'edge_1', number, answers: { org_a: [[`req_${number}`, '7']] } };
    await bus.js.publish(receiptsSubject('edge_1'), JSON.stringify(batch));
  }
  const seen: string[] = [];
  for await (const messages of receiptMessages(bus, 2, BATCHES - 1)) {
    expect(messages.length).toBeLessThanOrEqual(RECEIPT_MESSAGES_PER_BATCH);
    seen.push(...messages.flatMap(receiptsOf).map(({ event }) => event));
    expect((await sent()) - seen.length).toBeLessThanOrEqual(RECEIPT_MESSAGES_PER_BATCH);
  }
  expect(seen).toEqual(Array.from({ length: BATCHES - 2 }, (_, i) => `req_${i + 2}`));
});

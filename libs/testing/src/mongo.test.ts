import { type Document, MongoClient } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { mongo, startMongo } from './mongo.ts';

/** Each test starts servers; one may take many seconds on a busy machine. */
const TEST_TIMEOUT_MS = 300_000;
const ROUNDS = 4;
const MEGABYTE = 1_000_000;
/** More megabytes than the size at which the stand-in compacts its file. */
const VERSIONS = 40;
/** Batches that are acknowledged in a round before the kill, which meets the writes after them. */
const BATCHES = 8;
const BATCH = 20;

test('every acknowledged write survives kill -9, repeatedly', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const server = await startMongo();
  onTestFinished(() => server.stop());
  const acknowledged: string[] = [];
  let increments = 0;

  for (let round = 0; round < ROUNDS; round += 1) {
    const client = await MongoClient.connect(server.url);
    const rows = client.db('test').collection<Document & { _id: string }>('rows');
    const counters = client.db('test').collection<Document & { _id: string }>('counters');
    if (round === 0) await rows.createIndex({ n: 1 }, { unique: true });
    let killed: Promise<void> | undefined;
    try {
      for (let batch = 0; ; batch += 1) {
        const documents = Array.from({ length: BATCH }, (_, index) => {
          const id = `${round}-${batch}-${index}`;
          return { _id: id, n: id };
        });
        const inserted = rows.insertMany(documents, { writeConcern: { w: 'majority', j: true } });
        if (batch === BATCHES) killed = server.kill9();
        await inserted;
        acknowledged.push(...documents.map(({ _id }) => _id));
        await counters.updateOne({ _id: 'rows' }, { $inc: { count: BATCH } }, { upsert: true });
        increments += BATCH;
      }
    } catch (error) {
      expect(error).toMatchObject({ name: expect.stringContaining('Mongo') });
    }
    await killed;
    await client.close();
    await server.restart();
  }

  const client = await MongoClient.connect(server.url);
  onTestFinished(() => client.close());
  const database = client.db('test');
  const present = new Set((await database.collection('rows').find().toArray()).map(({ _id }) => String(_id)));
  expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS * BATCHES * BATCH);
  expect(acknowledged.filter((id) => !present.has(id))).toEqual([]);
  const counter = await database.collection('counters').findOne({ _id: 'rows' as never });
  // The write that was cut off by the kill may exist or not: it was not acknowledged.
  expect(counter?.count).toBeGreaterThanOrEqual(increments);
  expect(counter?.count).toBeLessThanOrEqual(increments + ROUNDS * BATCH);
  // The unique index was restored with its rows.
  await expect(
    database.collection('rows').insertOne({ _id: 'another' as never, n: acknowledged[0] }),
  ).rejects.toThrow(/E11000|duplicate key/);
});

test('a document that is rewritten many times does not keep old versions: files are small after a restart', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const server = await startMongo();
  onTestFinished(() => server.stop());
  const text = 'x'.repeat(MEGABYTE);
  const client = await MongoClient.connect(server.url);
  for (let version = 1; version <= VERSIONS; version += 1) {
    const last = { version, text };
    await client
      .db('test')
      .collection('rows')
      .replaceOne({ _id: 'one' as never }, last, { upsert: true });
  }
  await client.close();
  await server.restart();
  const again = await MongoClient.connect(server.url);
  onTestFinished(() => again.close());
  const database = again.db('test');
  expect((await database.stats()).storageSize).toBeLessThan((VERSIONS / 2) * MEGABYTE);
  expect(await database.collection('rows').find().toArray()).toEqual([
    { _id: 'one', version: VERSIONS, text },
  ]);
});

test('each database is new, and is dropped after its test', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const [one, other] = [await mongo(), await mongo()];
  onTestFinished(() => other.stop());
  expect(one.database).not.toBe(other.database);
  const client = await MongoClient.connect(other.url);
  onTestFinished(() => client.close());
  await client.db(other.database).collection('rows').insertOne({ a: 1 });
  await one.stop();
  expect(await client.db(other.database).collection('rows').countDocuments()).toBe(1);
});

// Tests of the MongoDB stand-in (infra/mongo) itself, whichever database the other tests use.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  createDebianPackages,
  ensureStandIn,
  MONGO_HOST,
  mongoServerProcess,
  toolsCacheFolder,
} from '@switchyard/local';
import {
  Binary,
  BSON,
  Code,
  type Collection,
  Decimal128,
  type Document,
  type Filter,
  MaxKey,
  MinKey,
  MongoBulkWriteError,
  MongoClient,
  ObjectId,
  type Sort,
  Timestamp,
  UUID,
} from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { ownPort } from './own-port.ts';
import { startTestServer, type TestServer, temporaryFolder } from './test-server.ts';

/** Acknowledged rows before the kill, over all writers. */
const ROWS_BEFORE_KILL = 400;

const FULL_AT_BYTES = 1_000_000;

const DURABLE = {
  writeConcern: { w: 'majority', journal: true },
  readConcern: { level: 'majority' },
} as const;

async function startStandIn(begun?: Buffer): Promise<TestServer & { readonly file: string }> {
  const { env } = process;
  const doing = () => {};
  const packages = createDebianPackages(env);
  const standIn = await ensureStandIn({ env, cacheFolder: toolsCacheFolder(env), packages, doing });
  const folder = await temporaryFolder('stand-in');
  const port = await ownPort(MONGO_HOST);
  const server = { kind: 'stand-in', standIn } as const;
  const spec = await mongoServerProcess({ name: 'mongo', server, port, folder, env });
  const file = join(folder, 'stand-in', 'data.h2');
  if (begun) await writeFile(file, begun);
  const running = await startTestServer(spec, { port, url: `mongodb://${MONGO_HOST}:${port}`, folder });
  onTestFinished(() => running.stop());
  return Object.assign(running, { file });
}

async function connect({ url }: TestServer): Promise<MongoClient> {
  const client = await MongoClient.connect(url, {
    ...DURABLE,
    useBigInt64: true,
  });
  onTestFinished(() => client.close());
  return client;
}

test('a file whose server was killed before any write is created again', async () => {
  const client = await connect(await startStandIn(Buffer.alloc(0)));
  await client.db('test').collection('rows').insertOne({ a: 1 });
  expect(await client.db('test').collection('rows').find().toArray()).toHaveLength(1);
});

test('dropping a database keeps databases whose names begin with its name', async () => {
  const client = await connect(await startStandIn());
  for (const name of ['books', 'books2', 'books_more'])
    await client.db(name).collection('rows').insertOne({ a: 1 });
  await client.db('books').dropDatabase();
  expect(await client.db('books').collection('rows').countDocuments()).toBe(0);
  for (const name of ['books2', 'books_more'])
    expect(await client.db(name).collection('rows').countDocuments(), name).toBe(1);
});

/** A value of each BSON type, between indexed fields. */
const OF_ALL_TYPES = {
  ...{
    double: 1.5,
    text: 'ä\0b',
    inner: { a: [1, { b: null }], b: 1 },
    list: ['x', ['y']],
    none: null,
    yes: true,
  },
  ...{
    data: new Binary(Buffer.from([0, 1])),
    uuid: new UUID(),
    id: new ObjectId(),
    at: new Date(7),
    pattern: /a+b/i,
  },
  ...{ int: 1, long: 2n ** 53n + 1n, decimal: Decimal128.fromString('1.5'), stamp: new Timestamp(5n) },
  ...{ least: new MinKey(), most: new MaxKey(), code: new Code('x') },
};

test('documents inserted in bulk are stored unchanged, are indexed, and have ids', async () => {
  const client = await connect(await startStandIn());
  const rows = client.db('test').collection<Document>('rows');
  await rows.createIndex({ 'inner.b': 1, last: 1 }, { name: 'inner' });
  const sent = Array.from({ length: 1_500 }, (_, last) => ({ _id: `row_${last}`, ...OF_ALL_TYPES, last }));
  await rows.insertMany(sent as never[]);
  for (const last of [0, 999, 1_499]) {
    const [found] = await rows.find({ 'inner.b': 1, last }, { raw: true }).toArray();
    expect(found).toEqual(BSON.serialize(sent[last] ?? {}));
  }
  await rows.insertMany([{ nameless: 1 }, { nameless: 2 }], { forceServerObjectId: true });
  const nameless = await rows.find({ nameless: { $gt: 0 } }).toArray();
  expect(new Set(nameless.map(({ _id }) => String(_id))).size).toBe(2);
});

test('a bulk insert reports the refused documents by their positions', async () => {
  const client = await connect(await startStandIn());
  const rows = client.db('test').collection<Document & { _id: unknown }>('rows');
  await rows.createIndex({ n: 1 }, { unique: true, name: 'number' });
  await rows.insertOne({ _id: 'a', n: 1 });
  const more = [
    { _id: 'b', n: 1 },
    { _id: 'a', n: 2 },
    { _id: 'c', n: 2 },
    { _id: ['d'], n: 3 },
    { _id: 'e', n: 4 },
  ];
  const refusedOf = async (ordered: boolean) => {
    const error: unknown = await rows.insertMany(more, { ordered }).catch((error: unknown) => error);
    if (!(error instanceof MongoBulkWriteError)) throw error;
    return [error.writeErrors].flat().map(({ index, code }) => [index, code]);
  };
  expect(await refusedOf(true)).toEqual([[0, 11_000]]);
  expect(await rows.countDocuments()).toBe(1);
  expect(await refusedOf(false)).toEqual([
    [0, 11_000],
    [1, 11_000],
    [3, 53],
  ]);
  // A refused document must leave no index entry that makes it findable or causes another refusal.
  expect((await rows.find().toArray()).map(({ _id }) => _id)).toEqual(['a', 'c', 'e']);
  await rows.insertOne({ _id: 'b', n: 3 });
});

test('acknowledged and read concurrent writes survive kill -9', async () => {
  const server = await startStandIn();
  const client = await connect(server);
  const rows = client.db('test').collection<Document & { _id: string }>('rows');
  await rows.createIndex({ writer: 1, at: 1 });
  const acknowledged = new Set<string>();
  let killed: Promise<void> | undefined;
  const write = async (writer: number) => {
    for (let at = 0; ; at += 1) {
      const id = `${writer}-${at}`;
      await rows.insertOne({ _id: id, writer, at });
      acknowledged.add(id);
      // Operations that wait for an answer, or for the server, fail at once.
      if (acknowledged.size >= ROWS_BEFORE_KILL) killed ??= server.kill9().then(() => client.close());
    }
  };
  const read = async () => {
    for (;;)
      for (const { _id } of await rows.find({ writer: 3 }, { batchSize: 5 }).toArray()) acknowledged.add(_id);
  };
  const ended = await Promise.allSettled([...Array.from({ length: 8 }, (_, i) => write(i)), read()]);
  expect(ended.map(({ status }) => status)).not.toContain('fulfilled');
  await killed;
  await server.restart();
  const again = (await connect(server)).db('test').collection<Document & { _id: string }>('rows');
  const there = new Set((await again.find().toArray()).map(({ _id }) => _id));
  expect([...acknowledged].filter((id) => !there.has(id))).toEqual([]);
  for (let writer = 0; writer < 8; writer += 1) {
    const own = await again.find({ writer }).sort({ at: 1 }).toArray();
    expect(
      own.map(({ at }) => at),
      'the index holds what the collection does',
    ).toEqual(own.map((_, i) => i));
  }
});

test('it ends when its file cannot be written, and the next one has every acknowledged write', async () => {
  const server = await startStandIn();
  const client = await connect(server);
  const rows = client.db('test').collection<Document & { _id: number }>('rows');
  await rows.insertOne({ _id: 0 });
  const { pid } = server;
  // Past this size of a file, writing fails: as on a disk without room.
  await promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${FULL_AT_BYTES}`]);
  let acknowledged = 0;
  const write = async () => {
    for (let id = 1; ; id += 1) {
      await rows.insertOne({ _id: id, text: randomBytes(4_096).toString('hex') });
      acknowledged = id;
    }
  };
  await expect(write()).rejects.toThrow();
  await server.ended();
  await client.close();
  await server.restart();
  const again = (await connect(server)).db('test').collection('rows');
  expect(await again.countDocuments()).toBeGreaterThan(acknowledged);
  await again.insertOne({ more: true });
});

test('a start compacts a file that is mostly garbage, and keeps documents, indexes and their marks of lists', async () => {
  const server = await startStandIn();
  const client = await connect(server);
  const rows = client.db('test').collection<Document & { _id: number }>('rows');
  await rows.createIndex({ tags: 1, n: 1 }, { name: 'tagged' });
  await rows.createIndex({ n: 1 }, { unique: true, name: 'number' });
  for (let first = 0; first < 3_000; first += 100)
    await rows.insertMany(
      Array.from({ length: 100 }, (_, i) => {
        const n = first + i;
        return { _id: n, n, tags: ['all', `t${n % 7}`], text: randomBytes(4_096).toString('hex') };
      }),
    );
  await rows.deleteMany({ n: { $gte: 100 } });
  const kept = await rows.find().toArray();
  await client.close();
  const { size } = await stat(server.file);
  await server.restart();
  expect((await stat(server.file)).size).toBeLessThan(size / 4);
  const again = (await connect(server)).db('test').collection<Document & { _id: number }>('rows');
  expect(await again.find().toArray()).toEqual(kept);
  expect(await again.find({ tags: 't3' }).sort({ n: 1 }).toArray()).toEqual(
    kept.filter(({ n }) => Number(n) % 7 === 3),
  );
  await expect(again.insertOne({ _id: 5_000, n: 42 })).rejects.toThrow(/duplicate key/);
  await again.insertOne({ _id: 5_000, n: 5_000 });
});

/** Of every kind that billing's documents have, and more. */
const VALUES = [
  null,
  1,
  2.5,
  -3,
  10n,
  2n ** 53n + 1n,
  2n ** 53n,
  'a',
  'b',
  'aa',
  '',
  'a\0b',
  true,
  false,
] as const;
const DATES = [new Date(5), new Date(-7)];
const LISTS = [[], ['x'], ['x', 'y'], 'x', null, ['z', 3]] as const;
const OPERATORS = ['$eq', '$gt', '$gte', '$lt', '$lte'] as const;

test('an index changes no answer: queries with and without indexes agree, also after changes', async () => {
  const client = await connect(await startStandIn());
  const [indexed, plain] = [client.db('test').collection('indexed'), client.db('test').collection('plain')];
  await indexed.createIndex({ a: 1, b: -1, _id: -1 });
  await indexed.createIndex({ lists: 1, b: 1 });
  await indexed.createIndex({ sparse: 1 }, { sparse: true });
  await indexed.createIndex({ p: 1, n: 1 }, { unique: true });
  const all = [...VALUES, ...DATES];
  const documents = Array.from({ length: 1_000 }, (_, i) => ({
    _id: (i % 3 === 0 ? i : `id_${(i * 7_919) % 1_000}`) as never,
    ...(i % 17 === 0 ? {} : { a: all[i % all.length] }),
    b: ((i * 31) % 50) - 25,
    lists: LISTS[i % LISTS.length],
    ...(i % 5 === 0 ? { sparse: all[(i / 5) % all.length] } : {}),
    ...{ p: 'p0', n: BigInt(i + 1) },
  }));
  for (const one of [indexed, plain]) await one.insertMany(documents);

  const compare = async (filter: Filter<Document>, sort?: Sort, limit = 0) => {
    const [found, expected] = await Promise.all(
      [indexed, plain].map(async (one: Collection) => {
        const cursor = one.find(filter).limit(limit).batchSize(7);
        return (await (sort ? cursor.sort(sort) : cursor).toArray()).map(({ _id }) => String(_id));
      }),
    );
    if (!sort) for (const ids of [found, expected]) ids?.sort();
    expect(found, `${JSON.stringify(Object.keys(filter))} sorted by ${JSON.stringify(sort)}`).toEqual(
      expected,
    );
  };
  const compareAll = async () => {
    for (const value of all)
      for (const operator of OPERATORS) {
        await compare({ a: { [operator]: value } });
        await compare({ a: value, b: { [operator]: 3 } }, { b: -1, _id: -1 });
        await compare({ a: { [operator]: value } }, { a: 1, b: -1, _id: -1 }, 9);
        await compare({ sparse: { [operator]: value } });
      }
    await compare({ lists: { $gt: 'x', $lt: 'zz' } });
    for (const list of [null, [], 'x', ['x', 'y']]) await compare({ lists: list as never }, { _id: 1 });
    await compare({ lists: 'x', b: { $gte: -2 } }, { b: 1, _id: 1 });
    await compare({ a: { $in: [1, 'a', null] }, b: { $gt: 2 } }, { a: 1, b: -1, _id: 1 });
    await compare({ _id: { $in: [0, 3, 6, 'id_5', 'none', 3] as never[] } });
    await compare({ p: 'p0', n: { $gt: 100n, $lte: 220n } }, { n: -1 }, 50);
    await compare({ p: 'p0' }, { n: 1 });
    await compare({ $and: [{ a: 1 }, { b: { $gt: 0 } }] });
    await compare({ $or: [{ a: 1 }, { b: 2 }] });
    await compare({ a: /a/ });
    await compare({ sparse: null });
  };
  await compareAll();
  for (const [i, { _id }] of documents.entries()) {
    if (i % 4 !== 0) continue;
    const change = [
      { $set: { a: all[(i * 5) % all.length] } },
      { $inc: { b: 1 } },
      { $set: { lists: [['q'], [], 'x', ['x', 'w']][(i / 4) % 4] } },
      { $unset: { sparse: '' } },
    ][(i / 4) % 4] as Document;
    for (const one of [indexed, plain]) {
      await one.updateOne({ _id }, change);
      if (i % 28 === 0) await one.deleteOne({ _id });
    }
  }
  await compareAll();
}, 300_000);

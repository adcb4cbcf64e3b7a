// The layout document and the ledger that it describes.
import { makeLogger } from '@switchyard/service';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestStore, testDatabases } from '../fixtures/database.ts';
import { partitionName } from '../store/partition.ts';
import { fence } from './fence.ts';
import { askToMove, FIRST_LAYOUT, type Layout, readLayout, replaceLayout, UnknownLayout } from './layout.ts';

const logger = makeLogger('partitions-test', 'silent');
let databases: Awaited<ReturnType<typeof testDatabases>>;
let database: TestStore;

beforeAll(async () => {
  databases = await testDatabases();
});
beforeEach(async () => {
  database = await databases.open();
});
afterAll(() => databases?.stop());

const SECOND_LAYOUT: Layout = { epoch: 1, partitions: 2, ever: 2, from: null, moving_to: null };

async function endLayout(epoch: number): Promise<void> {
  const { store } = database;
  for (let index = 0; index < 2; index += 1)
    await fence({ store, partition: partitionName(index), epoch: epoch + 1, now: Date.now(), logger });
}

test('an installation that was never split has the first layout', async () => {
  expect(await readLayout(database.store)).toBe(FIRST_LAYOUT);
});

test('the former layout is read with its move while the fences are written; then the next one', async () => {
  const { store } = database;
  const wish = await askToMove(store, 2);
  await endLayout(0);
  expect(await readLayout(store)).toEqual(wish);
  expect(await replaceLayout(store, wish, SECOND_LAYOUT)).toBe(true);
  expect(await readLayout(store)).toEqual(SECOND_LAYOUT);
});

test('a split ledger is not booked without its layout, or under an older one', async () => {
  const { store } = database;
  await endLayout(0);
  await expect(readLayout(store)).rejects.toBeInstanceOf(UnknownLayout);
  await expect(askToMove(store, 4)).rejects.toThrow('restore the collections ledger and layout');
  await replaceLayout(store, FIRST_LAYOUT, SECOND_LAYOUT);
  expect(await readLayout(store)).toEqual(SECOND_LAYOUT);
  await endLayout(1);
  await expect(readLayout(store)).rejects.toThrow('ahead of layout 1');
});

import { type VideoRecord, videoKey } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../fixtures/installation.ts';
import { newRecord } from '../jobs/new-record.ts';
import { listVideos } from './videos-list.ts';

const ORG = 'org_many';
const VIDEOS = 100;
/** A record of this size makes reading every record visible. */
const MESSAGE = 'x'.repeat(10_000);
const PAGE_BYTES_MAX = (VIDEOS * MESSAGE.length) / 4;

let installation: Installation;
/** Newest first. */
const ids: string[] = [];
beforeAll(async () => {
  installation = await startInstallation();
  const event = await installation.charge({ 'acme/first': 1 }, ORG);
  const first = newRecord(event, { bytes: 0, callbackUrl: null });
  const records = Array.from({ length: VIDEOS }, (_, i): VideoRecord => {
    const error = { code: 'video_failed', message: MESSAGE };
    return { ...first, id: `vid_${1_000 + i}`, deleted: i % 2 === 0, state: 'failed', error };
  });
  for (const record of records) await installation.videos.create(videoKey(ORG, record.id), record);
  ids.push(
    ...records
      .filter(({ deleted }) => !deleted)
      .map(({ id }) => id)
      .reverse(),
  );
});
afterAll(() => installation?.stop());

const list = (query: { limit: number; after?: string }) =>
  listVideos(installation)({ org: ORG, key_id: 'key_1', query });

test('the pages list every video once, newest first, without deleted ones', async () => {
  const listed: string[] = [];
  for (let hasMore = true; hasMore; ) {
    const after = listed.at(-1);
    const page = await list({ limit: 7, ...(after === undefined ? {} : { after }) });
    listed.push(...page.data.map(({ id }) => id));
    hasMore = page.has_more;
  }
  expect(listed).toEqual(ids);
});

test('a page reads only the records around it', async () => {
  const { nc } = installation.bus;
  const before = nc.stats().inBytes;
  const page = await list({ limit: 5 });
  expect(page).toMatchObject({ has_more: true, data: ids.slice(0, 5).map((id) => ({ id })) });
  expect(nc.stats().inBytes - before).toBeLessThan(PAGE_BYTES_MAX);
});

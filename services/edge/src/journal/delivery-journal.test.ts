import { mkdirSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeLogger } from '@switchyard/service';
import { onFullDisk } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { adoptJournals, DeliveryJournal, readOpenCalls } from './delivery-journal.ts';

const logger = makeLogger('test', 'silent');
const folder = () => mkdtempSync(join(tmpdir(), 'journal-'));
const openCalls = (path: string) =>
  [...adoptJournals(path)].flatMap((file) => readOpenCalls(file).map(({ requestId }) => requestId));

test('the next process finds exactly the calls that were accepted and not settled', () => {
  const path = folder();
  const journal = new DeliveryJournal(path, logger);
  for (const id of ['req_1', 'req_2', 'req_3', 'req_4']) journal.taken(id, 'org_x');
  journal.flush();
  journal.settled('req_2');
  journal.settled('req_unknown');
  journal.taken('req_5', 'org_y');
  journal.settled('req_4'); // also flushes pending entries to disk
  journal.close();
  expect([...adoptJournals(path)].flatMap(readOpenCalls)).toEqual([
    { requestId: 'req_1', org: 'org_x' },
    { requestId: 'req_3', org: 'org_x' },
    { requestId: 'req_5', org: 'org_y' },
  ]);
});

test('the journal of a running edge is not an orphan, and an adopted one has a single owner', () => {
  const path = folder();
  const journal = new DeliveryJournal(path, logger);
  journal.taken('req_1', 'org_x');
  journal.flush();
  expect(openCalls(path)).toEqual([]);
  journal.close();
  expect(openCalls(path)).toEqual(['req_1']);
  expect(openCalls(path)).toEqual([]);
});

test('the file is compacted to the open calls before it exceeds its limit', () => {
  const path = folder();
  const journal = new DeliveryJournal(path, logger);
  journal.taken('req_kept', 'org_x');
  for (let n = 0; n < 320_000; n += 1) {
    journal.taken(`req_${n}_${'x'.repeat(20)}`, 'org_x');
    journal.settled(`req_${n}_${'x'.repeat(20)}`);
  }
  const [file] = readdirSync(path).filter((name) => name.endsWith('.ndjson'));
  expect(statSync(join(path, file ?? '')).size).toBeLessThan(16 * 1024 * 1024);
  journal.close();
  expect(openCalls(path)).toEqual(['req_kept']);
});

test('while the disk is full no call is taken, and what was settled meanwhile is written later', async () => {
  const path = folder();
  const journal = new DeliveryJournal(path, logger);
  for (const id of ['req_1', 'req_2']) journal.taken(id, 'org_x');
  journal.flush();
  await onFullDisk(() => {
    journal.settled('req_1');
    expect(() => journal.taken('req_3', 'org_x')).toThrow(
      expect.objectContaining({ code: 'service_unavailable' }),
    );
  });
  journal.taken('req_4', 'org_x');
  journal.close();
  expect(openCalls(path)).toEqual(['req_2', 'req_4']);
});

test('a file that cannot be compacted goes on growing, and calls are taken', () => {
  const path = folder();
  const journal = new DeliveryJournal(path, logger);
  const [file] = readdirSync(path).filter((name) => name.endsWith('.ndjson'));
  mkdirSync(join(path, `${file}.new`)); // where the new file would be
  const org = 'x'.repeat(9_000_000);
  for (const id of ['req_1', 'req_2']) {
    journal.taken(id, org);
    journal.settled(id);
  }
  journal.taken('req_3', 'org_x');
  journal.close();
  expect(statSync(join(path, file ?? '')).size).toBeGreaterThan(16 * 1024 * 1024);
  expect(openCalls(path)).toEqual(['req_3']);
});

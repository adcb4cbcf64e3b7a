// Docs that list things are asserted against the code: they cannot drift.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EVENTS_PAGE, withEventsTable } from '../generate.ts';
import { ERRORS, type ErrorCode, errorKind, eventLine } from './index.ts';

const docs = join(import.meta.dirname, '../../../docs');
const rowsOf = (file: string) =>
  readFileSync(join(docs, file), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    );

test('docs/errors.md lists every code with its status, and no other', () => {
  const listed = rowsOf('errors.md').map(([code, status, retry, meaning]) => ({
    code,
    status,
    retry,
    meaning,
  }));
  const known = (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
    const { status, retry, meaning } = errorKind(code);
    return {
      code: `\`${code}\``,
      status: String(status),
      retry: retry === undefined ? '' : String(retry),
      meaning,
    };
  });
  expect(listed).toEqual(known);
});

test('every error says in at most 20 words what failed and what to do', () => {
  const words = Object.entries(ERRORS).map(([code, { meaning }]) => ({
    code,
    words: meaning.split(' ').length,
  }));
  expect(words.filter((one) => one.words > 20)).toEqual([]);
});

test('docs/events.md lists every event, and no other; `npm run client` writes the table', () => {
  const page = readFileSync(EVENTS_PAGE, 'utf8');
  expect(page).toBe(withEventsTable(page));
});

test('an event in one line shows its money in dollars, and leaves out what it does not have', () => {
  const minute = { computer_id: 'cmp_1', org: 'org_1', run: 1, minute: 0, cost_nano: '1234' };
  expect(eventLine('computer.metered', minute)).toEqual(['cmp_1', 'run 1', 'minute 0', '$0.000001234']);
  const failed = { video_id: 'vid_1', model: 'acme/v', elapsed_ms: 12.5, error_code: null };
  expect(eventLine('video.failed', failed)).toEqual(['vid_1', 'acme/v', '12.5 ms']);
  expect(eventLine('of.later', { org: 'org_1' })).toEqual([]);
});

test('an event in one line has no control characters of a tenant', () => {
  const failed = { video_id: 'vid_1', model: 'a\u001b[2Jb\nc\u009bd' };
  expect(eventLine('video.failed', failed)).toEqual(['vid_1', 'a\ufffd[2Jb\ufffdc\ufffdd']);
});

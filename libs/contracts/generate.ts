// Part of `npm run client`: writes the table of events in docs/events.md from `EVENTS`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENTS } from './src/events.ts';

export const EVENTS_PAGE = join(import.meta.dirname, '../../docs/events.md');
const TABLE = /(<!-- written by `npm run client` -->\n).*(<!-- end -->\n)/s;

/** The page with its table as `EVENTS` says. */
export function withEventsTable(page: string): string {
  const rows = Object.entries(EVENTS).map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |\n`);
  if (!TABLE.test(page)) throw new Error('docs/events.md has no markers around its table');
  return page.replace(TABLE, (_, begin, end) =>
    [begin, '| type | meaning |\n|---|---|\n', ...rows, end].join(''),
  );
}

if (import.meta.main) writeFileSync(EVENTS_PAGE, withEventsTable(readFileSync(EVENTS_PAGE, 'utf8')));

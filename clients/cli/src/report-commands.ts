// `switchyard usage`, `logs`, `events` and `audit-log`.
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, type paths, type Switchyard, SwitchyardError, serverEvents } from '@switchyard/client';
import type { StreamedEvent } from '@switchyard/contracts';
import { type Command, Option } from 'commander';
import { dollars, printJson, printLine, printTable, quantitiesText, wantsJson } from './print.ts';
import { readCount } from './read-count.ts';
import { connect } from './settings.ts';

type UsageQuery = NonNullable<paths['/v1/usage']['get']['parameters']['query']>;
type LogsQuery = NonNullable<paths['/v1/logs']['get']['parameters']['query']>;
type EventsQuery = NonNullable<paths['/v1/events']['get']['parameters']['query']>;
type LogEntry = paths['/v1/logs']['get']['responses'][200]['content']['application/json']['data'][number];

type AuditLogQuery = NonNullable<paths['/v1/audit-log']['get']['parameters']['query']>;
type AuditEntry =
  paths['/v1/audit-log']['get']['responses'][200]['content']['application/json']['data'][number];

interface LogsOptions
  extends Pick<LogsQuery, 'model' | 'computer' | 'tag' | 'status' | 'key' | 'from' | 'after'> {
  limit: number;
  request?: string;
  clientRequest?: string;
  follow?: boolean;
  json?: boolean;
}

const INTERVALS = ['minute', 'hour', 'day', 'month'];
/** A call is in Logs a moment after its end. */
const LOGS_POLL_MS = 2_000;
/** A row may come this much later than one that ended after it. */
const LATE_MS_MAX = 60_000;
/** Rows that may come between two polls. */
const FOLLOW_ROWS_MAX = 1_000;
/** Consecutive failures before giving up, and the pause after each for events: a restart takes less than both. */
const FAILURES_MAX = 20;
const EVENTS_RECONNECT_MS = 1_000;
/** The loss of a connection that lasted this long is no failure: an org may have no events for weeks. */
const CONNECTION_LASTED_MS = 60_000;
/** What a proxy answers while the server behind it restarts. */
const PROXY_FAILED: ReadonlySet<number | null> = new Set([502, 503, 504]);

export function addReportCommands(program: Command): void {
  program
    .command('usage')
    .description('usage and its cost')
    .option('--by <group>', 'group rows by model, type, maker, key, computer, status, or tag:<name>', 'model')
    .addOption(new Option('--interval <interval>', 'also group rows by this interval').choices(INTERVALS))
    .option(
      '--from <time>',
      'from this moment on, as ISO 8601; default: 30 days ago, an hour for minutes, a day for hours, a year for months',
    )
    .option('--to <time>', 'up to this moment; default: the end of this quarter hour')
    .action(async ({ by, json: _, ...rest }: { by: string; json?: boolean }, command: Command) => {
      const sy = await connect();
      const query = { ...rest, group_by: by } as UsageQuery;
      const report = await dataOf(sy.api.GET('/v1/usage', { params: { query } }));
      const rows = report.data.map(({ from, group, calls, cost, quantities }) => [
        ...(report.interval === null ? [] : [from]),
        ...[group, calls, dollars(cost), quantitiesText(quantities)],
      ]);
      const total = ['total', report.total.calls, dollars(report.total.cost), ''];
      const time = report.interval === null ? [] : ['FROM'];
      const lastRow = report.interval === null ? total : ['', ...total];
      printTable(
        command,
        [...time, by.toUpperCase(), 'CALLS', 'COST', 'QUANTITIES'],
        [...rows, lastRow],
        report,
      );
    });
  program
    .command('logs')
    .description('calls and computer minutes, the latest last')
    .option('-f, --follow', 'then print new ones')
    .option('-n, --limit <count>', 'maximum rows', readCount, 20)
    .addOption(new Option('--after <id>', 'rows older than this one: the first id shown').conflicts('follow'))
    .option('--model <model>', 'only of this model')
    .option('--computer <id>', 'only of this computer')
    .option('--tag <name:value>', 'only with this tag')
    .option('--status <status>', 'only with this status: ok, refused, error, cancelled, voided')
    .option('--key <id>', 'only of this API key')
    .option('--request <id>', 'only the call of this X-Request-Id, and its refunds')
    .option('--client-request <id>', 'only calls that were sent with this X-Client-Request-Id')
    .option('--from <time>', 'from this moment on, as ISO 8601')
    .action(async (options: LogsOptions, command: Command) => {
      await showLogs(await connect(), options, wantsJson(command));
    });
  program
    .command('events')
    .description('the events of your org as they happen')
    .option('--type <types>', 'only these, separated by commas: call.completed, computer.* …')
    .option('--computer <id>', 'only of this computer')
    .option('--since <position>', 'begin after this `position` of --json; 0: with all kept events')
    .action(async ({ json: _, ...query }: EventsQuery & { json?: boolean }, command: Command) => {
      await showEvents(await connect(), query, wantsJson(command));
    });
  addAuditLogCommand(program);
}

function addAuditLogCommand(program: Command): void {
  program
    .command('audit-log')
    .description('who created, changed and revoked what, the latest last')
    .option('-n, --limit <count>', 'maximum lines', readCount, 20)
    .option('--after <id>', 'lines older than this one: the first `id` shown by --json')
    .option('--org <id>', 'only this org; default: all orgs for an operator, else your own')
    .option('--actor <key>', 'only what this key did, by its id')
    .option('--type <event>', 'only this event, such as key.revoked')
    .action(async ({ json: _, ...query }: AuditLogQuery & { json?: boolean }, command: Command) => {
      const sy = await connect();
      const { data } = await dataOf(sy.api.GET('/v1/audit-log', { params: { query } }));
      for (const line of data.toReversed()) {
        if (wantsJson(command)) printJson(line);
        else printLine(auditLine(line));
      }
    });
}

function auditLine({ at, type, org, target, actor, changes }: AuditEntry): string {
  const by = actor === null ? 'by itself' : `by ${actor.key_id}`;
  return [at, type.padEnd(22), org, target, by, Object.keys(changes).join(', ')].join('  ').trimEnd();
}

/** Prints the last rows, oldest first, then new ones with `follow`. */
async function showLogs(
  sy: Switchyard,
  { follow, limit, request, clientRequest, json: _, ...rest }: LogsOptions,
  json: boolean,
) {
  const ids = { request_id: request, client_request_id: clientRequest };
  const filters = { ...rest, ...ids } as LogsQuery;
  const fetchRows = async (more: LogsQuery) =>
    (await dataOf(sy.api.GET('/v1/logs', { params: { query: { ...filters, ...more } } }))).data;
  const show = (rows: readonly LogEntry[]) => {
    for (const row of rows.toReversed()) {
      if (json) printJson(row);
      else printLine(logLine(row));
    }
  };
  let from = Date.parse(filters.from ?? '1970-01-01');
  let rows = await fetchRows({ limit: follow ? FOLLOW_ROWS_MAX : limit });
  show(rows.slice(0, limit));
  let failures = 0;
  while (follow) {
    await sleep(LOGS_POLL_MS);
    // Never back to an earlier time, whose rows were shown: the newest row may be voided and leave a filter.
    if (rows[0]) from = Math.max(from, Date.parse(rows[0].at) - LATE_MS_MAX);
    const seen = new Set(rows.map(({ id }) => id));
    try {
      rows = await fetchRows({ limit: FOLLOW_ROWS_MAX, from: new Date(from).toISOString() });
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!isTemporary(error) || failures > FAILURES_MAX) throw error;
    }
    show(rows.filter(({ id }) => !seen.has(id)));
  }
}

function logLine({
  at,
  status,
  model,
  requested_model,
  computer_id,
  path,
  cost,
  latency_ms,
  id,
}: LogEntry): string {
  const what = model ?? requested_model ?? computer_id ?? path ?? '-';
  const took = latency_ms === null ? '-' : `${Math.round(latency_ms)} ms`;
  return [at, status.padEnd(9), what.padEnd(24), dollars(cost).padEnd(13), took.padEnd(9), id].join('  ');
}

/** Prints events, and reconnects: a server that restarts ends its streams. */
async function showEvents(sy: Switchyard, query: EventsQuery, json: boolean): Promise<void> {
  const { eventLine } = await import('@switchyard/contracts'); // 0.3 s, which other commands need not wait for
  let { since } = query;
  let failures = 0;
  let hasBegun = false;
  for (;;) {
    let connectedAt = Number.POSITIVE_INFINITY;
    try {
      const asked = { ...query, ...(since === undefined ? {} : { since }) };
      const body = await dataOf(sy.api.GET('/v1/events', { params: { query: asked }, parseAs: 'stream' }));
      connectedAt = performance.now();
      hasBegun = true;
      const events = body!.pipeThrough(
        watchBeginning((position) => {
          since ??= position;
        }),
      );
      for await (const { id, event, data } of serverEvents(events)) {
        if (event === 'error') throw new SwitchyardError(JSON.parse(data).error);
        const happened = JSON.parse(data) as StreamedEvent;
        const { timestamp, type } = happened;
        if (json) printJson({ ...happened, position: id });
        else printLine([timestamp, type.padEnd(18), ...eventLine(type, happened.data)].join('  '));
        since = id;
        failures = 0;
      }
      throw new SwitchyardError({ code: 'service_unavailable', message: 'The stream of events ended.' });
    } catch (error) {
      if (performance.now() - connectedAt >= CONNECTION_LASTED_MS) failures = 0;
      if (!hasBegun || !isTemporary(error) || failures >= FAILURES_MAX) throw error;
    }
    failures += 1;
    await sleep(EVENTS_RECONNECT_MS);
  }
}

/** Reports the `id` without data that begins a stream of events: the parser of events skips it. */
function watchBeginning(report: (id: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text = '';
  return new TransformStream({
    transform(bytes, controller) {
      controller.enqueue(bytes);
      if (text.includes('\n\n')) return;
      text += decoder.decode(bytes, { stream: true });
      const id = /^id: (.+)\n\n/.exec(text)?.[1];
      if (id !== undefined) report(id);
    },
  });
}

/** Whether a retry may succeed: the connection was lost, or the server restarts. */
function isTemporary(error: unknown): boolean {
  if (error instanceof SwitchyardError)
    return error.code === 'service_unavailable' || PROXY_FAILED.has(error.status);
  return error instanceof TypeError && error.cause !== undefined; // as `fetch` throws it, unlike a defect of ours
}

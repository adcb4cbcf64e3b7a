// Formats the report of an audit as text and as JSON.
import { formatDollars } from '@switchyard/money';
import type { AuditReport } from './audit.ts';
import { DRIFTS } from './drift.ts';

/** Maximum number of orgs whose balance is listed. */
const BALANCES_SHOWN_MAX = 20;

export function reportText(report: AuditReport): string {
  const { ledger, hours, days, stream, answers, logs, totals, up_to, drifts, named, seconds } = report;
  const moved = hours.moved + days.moved + report.lines.moved;
  const lines = [
    row('ledger', [
      `${count(ledger.rows)} rows`,
      ledger.gapless
        ? `numbers 1 to ${lastNumbers(up_to)} without a gap`
        : `up to number ${lastNumbers(up_to)}, WITH GAPS`,
      dollars(totals.ledger),
    ]),
    row('aggregates', [
      `${count(hours.compared)} hours, ${count(days.compared)} days and ${count(report.lines.compared)} lines of statements rebuilt and compared`,
      ...(moved > 0 ? [`${count(moved)} of them checked again at a later number`] : []),
    ]),
    row('events', [
      `${count(stream.events)} in the stream, ${count(stream.bookable)} of them belong in the ledger`,
      ...(stream.since ? [`${count(stream.rows)} ledger rows since ${stream.since.toISOString()}`] : []),
      ...(stream.rejected > 0 ? [`${count(stream.rejected)} rejected`] : []),
    ]),
    row('answers', [`${count(answers.compared)} with a cost, looked up in the ledger`]),
    row('logs', [
      `${count(logs.rows)} rows with a cost`,
      dollars(totals.logs),
      ...(logs.since.getTime() > 0 ? [`complete since ${logs.since.toISOString()}`] : []),
      ...(ledger.rowsBeforeLogs > 0 ? [`${count(ledger.rowsBeforeLogs)} ledger rows are older`] : []),
    ]),
    ...report.balances
      .slice(0, BALANCES_SHOWN_MAX)
      .map(({ org, billing, credits, spent, held }) =>
        row('balance', [
          `${org}${billing ? ` (${billing})` : ''}`,
          `credits ${dollars(credits)} - spent ${dollars(spent)} = ${dollars(credits - spent)}`,
          held === null ? 'held: not known' : `held $${held}`,
        ]),
      ),
  ];
  const more = report.balances.length - BALANCES_SHOWN_MAX;
  if (more > 0) lines.push(row('balance', [`and ${count(more)} more orgs`]));
  for (const { kind, org, subject, detail } of named)
    lines.push(
      `DRIFT  ${kind}  ${subject}${org && org !== subject ? ` (${org})` : ''}: ${DRIFTS[kind]}; ${detail}`,
    );
  if (drifts > named.length) lines.push(`DRIFT  and ${count(drifts - named.length)} more`);
  const verdict = drifts === 0 ? 'zero drift' : `${count(drifts)} ${drifts === 1 ? 'drift' : 'drifts'}`;
  return [...lines, `${verdict}, in ${seconds.toFixed(1)} s`, ''].join('\n');
}

/** Amounts as strings of nano-dollars: JSON has no exact integers of that size. */
export function reportJson(report: AuditReport): string {
  return JSON.stringify(report, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** The last number of a single partition; with several partitions, each with its name. */
function lastNumbers(upTo: AuditReport['up_to']): string {
  const all = Object.entries(upTo);
  return all.map(([name, n]) => (all.length === 1 ? count(n) : `${count(n)} in ${name}`)).join(', ');
}

function row(name: string, facts: readonly string[]): string {
  return `${name.padEnd(12)}${facts.join('; ')}`;
}

function count(of: number | bigint): string {
  return of.toLocaleString('en-US');
}

function dollars(nanos: bigint): string {
  return nanos < 0n ? `-$${formatDollars(-nanos)}` : `$${formatDollars(nanos)}`;
}

// A statement as CSV, and as a printable page without scripts and with inline style.
import type { Statement, StatementLine } from '@switchyard/contracts';
import { formatDollars, parseDollars } from '@switchyard/money';
import { csvLine } from './csv.ts';

const CSV_HEAD = [
  'line',
  'kind',
  'type',
  'model',
  'computer_id',
  'late',
  'calls',
  'quantities',
  'rates',
  'amount',
  'reason',
  'reference',
];

/** Balances and credits are lines too, so that the amounts of all lines but the last add up to the last. */
export function statementCsv(statement: Statement): string {
  const of = (
    id: string,
    kind: string,
    amount: number,
    notes: [string | null, string | null] = [null, null],
  ) => csvLine([id, kind, null, null, null, null, null, null, null, amount, ...notes]);
  return [
    csvLine(CSV_HEAD),
    of('opening_balance', 'opening_balance', statement.opening_balance),
    ...statement.granted.map(({ id, amount, reason, reference }) =>
      of(id, 'credit', amount, [reason, reference]),
    ),
    ...statement.lines.map(({ id, kind, type, model, computer_id, late, calls, quantities, rates, amount }) =>
      csvLine([
        ...[id, kind, type, model, computer_id, late, calls, JSON.stringify(quantities)],
        ...[rates.map(({ unit, rate }) => `${unit} ${rate}`).join('; '), -amount || 0, null, null],
      ]),
    ),
    of('closing_balance', 'closing_balance', statement.closing_balance),
  ].join('');
}

export function statementPage(statement: Statement): string {
  const {
    month,
    org,
    status,
    closes_at: closesAt,
    opening_balance,
    credits,
    total,
    closing_balance,
  } = statement;
  const state = status === 'closed' ? 'Closed' : `Open until ${closesAt.slice(0, 16).replace('T', ' ')} UTC`;
  const sums = [
    ['Opening balance', opening_balance],
    ['Credits', credits],
    ['Charges', -statement.charges || 0],
    ['Refunds', -statement.refunds || 0],
    ['Closing balance', closing_balance],
  ] as const;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Statement ${month}</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1>Statement ${month}</h1><p>${escaped(org)}<br>${state}</p></header>
<table class="sums">
${sums.map(([name, amount]) => `<tr><th scope="row">${name}</th><td class="n">${dollars(amount)}</td></tr>`).join('\n')}
</table>
<table>
<thead><tr><th>Item</th><th>Quantities</th><th>Rates</th><th class="n">Amount</th></tr></thead>
<tbody>
${statement.lines.map(lineRow).join('\n')}
</tbody>
<tfoot><tr><th scope="row" colspan="3">Total</th><td class="n">${dollars(total)}</td></tr></tfoot>
</table>
${statement.granted.length > 0 ? creditTable(statement) : ''}
<p class="note">All times are UTC, all amounts US dollars. The events of a line: GET /v1/statements/${month}/lines/{line}.</p>
</body>
</html>
`;
}

function lineRow(line: StatementLine): string {
  const { id, kind, type, model, computer_id: computer, late, calls, quantities, rates, amount } = line;
  const notes = [kind === 'refund' ? 'refund' : type, late ? 'late' : null].filter((note) => note !== null);
  const counted = [
    ...(calls === 0 ? [] : [`${calls.toLocaleString('en-US')} calls`]),
    ...Object.entries(quantities).map(
      ([name, quantity]) => `${quantity.toLocaleString('en-US')} ${name.replaceAll('_', ' ')}`,
    ),
  ];
  const name = model ?? computer ?? type ?? 'other';
  return `<tr><td>${escaped(name)}<br><small>${escaped(notes.join(', '))} · ${escaped(id)}</small></td><td>${counted
    .map(escaped)
    .join(
      '<br>',
    )}</td><td>${rates.map(({ unit, rate }) => escaped(`$${rate} / ${unit.replaceAll('_', ' ')}`)).join('<br>')}</td><td class="n">${dollars(amount)}</td></tr>`;
}

function creditTable({ granted }: Statement): string {
  const rows = granted.map(
    ({ id, created_at, reason, reference, amount }) =>
      `<tr><td>${created_at.slice(0, 10)}<br><small>${escaped(id)}</small></td><td>${escaped(reason)}</td><td>${escaped(reference ?? '')}</td><td class="n">${dollars(amount)}</td></tr>`,
  );
  return `<h2>Credits</h2><table><tbody>\n${rows.join('\n')}\n</tbody></table>`;
}

/** At least two decimals; never an exponent. */
function dollars(amount: number): string {
  const text = formatDollars(parseDollars(amount));
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  return `${text.startsWith('-') ? '−' : ''}$${BigInt(whole).toLocaleString('en-US')}.${fraction.padEnd(2, '0')}`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

const STYLE = `
body { font: 14px/1.45 system-ui, sans-serif; color: #1a1a1a; max-width: 52rem; margin: 2.5rem auto; padding: 0 1.5rem; }
header { display: flex; justify-content: space-between; align-items: baseline; border-bottom: 2px solid; }
header p { text-align: right; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { width: 100%; border-collapse: collapse; margin-top: 1.25rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid #ddd; font-weight: normal; }
thead th { border-bottom: 1px solid #888; color: #555; } tfoot th, tfoot td { font-weight: 600; border: 0; }
.sums { width: auto; margin-left: auto; } .sums tr:last-child > * { font-weight: 600; border: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
small, .note { color: #666; } tr { break-inside: avoid; }
@media print { body { margin: 0; max-width: none; } }
`;

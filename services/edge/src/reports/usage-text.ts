// A usage report as text: a row a line. Quantities have columns of their own in CSV, since the report is there whole.
import type { UsageReport } from '@switchyard/contracts';
import { csvLine } from './csv.ts';
import type { TextFormat } from './row-format.ts';

export function usageText(report: UsageReport, format: TextFormat): string {
  return format === 'csv' ? usageCsv(report) : report.data.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** Columns that have no value in the report (no interval, no grouping) are there all the same: the form is always one. */
function usageCsv({ data }: UsageReport): string {
  const names = [...new Set(data.flatMap(({ quantities }) => Object.keys(quantities)))].sort();
  const lines = data.map(({ from = null, group = null, calls, cost, quantities }) =>
    csvLine([from, group, calls, cost, ...names.map((name) => quantities[name] ?? 0)]),
  );
  return csvLine(['from', 'group', 'calls', 'cost', ...names]) + lines.join('');
}

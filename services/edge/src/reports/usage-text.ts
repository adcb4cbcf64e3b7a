// A usage report as text, one line per row. CSV has a column per quantity, since all rows are known.
import type { UsageReport } from '@switchyard/contracts';
import { csvLine } from './csv.ts';
import type { TextFormat } from './row-format.ts';

export function usageText(report: UsageReport, format: TextFormat): string {
  return format === 'csv' ? usageCsv(report) : report.data.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/**
 * Columns without a value in the report (no interval, no grouping) are included, so that the columns are always the
 * same.
 */
function usageCsv({ data }: UsageReport): string {
  const names = [...new Set(data.flatMap(({ quantities }) => Object.keys(quantities)))].sort();
  const lines = data.map(({ from = null, group = null, calls, cost, quantities }) =>
    csvLine([from, group, calls, cost, ...names.map((name) => quantities[name] ?? 0)]),
  );
  return csvLine(['from', 'group', 'calls', 'cost', ...names]) + lines.join('');
}

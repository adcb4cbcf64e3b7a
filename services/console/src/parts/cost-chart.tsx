// Cost over time as bars, with a table of the same figures for screen readers.
import { VisuallyHidden } from '@mantine/core';
import type { UsageReport, UsageRow } from '@switchyard/contracts';
import { dollars } from './show.tsx';
import TimeChart from './time-chart.tsx';

const HEIGHT_PX = 220;
const seconds = (time: string) => Date.parse(time) / 1_000;

interface CostChartProps extends Pick<UsageReport, 'from' | 'to'> {
  readonly rows: readonly UsageRow[];
  readonly interval: string;
}

export default function CostChart({ rows, interval, from, to }: CostChartProps) {
  const times = rows.map((row) => seconds(row.from ?? from));
  // A range may begin within its first interval, whose bar stands at the beginning of the interval.
  const span = [Math.min(...times, seconds(from)), seconds(to)] as const;
  return (
    <>
      <TimeChart
        label={`Cost by ${interval}`}
        kind="bars"
        heightPx={HEIGHT_PX}
        times={times}
        values={rows.map(({ cost }) => cost)}
        span={span}
        show={dollars}
      />
      <VisuallyHidden>
        <table>
          <caption>Cost by {interval}</caption>
          <tbody>
            {rows.map(({ from: start, cost }) => (
              <tr key={start}>
                <th scope="row">{start}</th>
                <td>{dollars(cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </>
  );
}

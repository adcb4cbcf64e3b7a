// Cost over time as bars. The table below it has the same figures for those who do not see it.
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme, VisuallyHidden } from '@mantine/core';
import type { UsageReport, UsageRow } from '@switchyard/contracts';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { dollars } from './show.tsx';

const HEIGHT = 220;
const COLORS = {
  light: { bar: '#1971c2', line: '#dee2e6', text: '#495057' },
  dark: { bar: '#4dabf7', line: '#3b3b3b', text: '#c9c9c9' },
};

interface CostChartProps extends Pick<UsageReport, 'from' | 'to'> {
  readonly rows: readonly UsageRow[];
  readonly interval: string;
}

export default function CostChart({ rows, interval, from, to }: CostChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const { bar, line, text } = COLORS[scheme];
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
    const chart = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        series: [
          {},
          {
            fill: bar,
            stroke: bar,
            paths: UPlot.paths.bars?.({ size: [0.7, 40], align: 1 }) ?? null,
            points: { show: false },
          } as UPlot.Series,
        ],
        axes: [
          axis,
          { ...axis, size: 90, values: (_chart, values) => values.map((value) => dollars(value)) },
        ],
        scales: {
          x: { range: () => [Date.parse(from) / 1_000, Date.parse(to) / 1_000] },
          y: { range: (_chart, _min, max) => [0, max || 0.01] },
        },
      },
      [rows.map(({ from: start }) => Date.parse(start ?? '') / 1_000), rows.map(({ cost }) => cost)],
      element,
    );
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [rows, scheme, from, to]);
  return (
    <>
      <div ref={place} aria-hidden="true" />
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

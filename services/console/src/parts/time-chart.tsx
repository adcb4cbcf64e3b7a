// Figures over time, as bars or a line. The chart is a picture for assistive technology: figures are beside it as text.
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';

const COLORS = {
  light: { figure: '#1971c2', area: '#1971c233', line: '#dee2e6', text: '#495057' },
  dark: { figure: '#4dabf7', area: '#4dabf733', line: '#3b3b3b', text: '#c9c9c9' },
};
const AXIS_WIDTH_PX = 90;
/** Top of the scale while every figure is 0. */
const TOP_MIN = 0.01;

interface TimeChartProps {
  readonly label: string;
  readonly kind: 'bars' | 'line';
  readonly heightPx: number;
  /** Seconds since the epoch, rising. */
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  /** First and last second shown. */
  readonly span: readonly [from: number, to: number];
  /** Top of the scale; by default the largest figure. */
  readonly top?: number | null;
  readonly show: (value: number) => string;
}

export default function TimeChart(props: TimeChartProps) {
  const { label, kind, heightPx, times, values, show } = props;
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useComputedColorScheme('light');
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const { figure, area, line, text } = COLORS[scheme];
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
    const bars = UPlot.paths.bars?.({ size: [0.7, 40], align: 1 });
    const made = new UPlot(
      {
        width: element.clientWidth,
        height: heightPx,
        legend: { show: false },
        cursor: { show: false },
        series: [
          {},
          {
            stroke: figure,
            fill: kind === 'bars' ? figure : area,
            points: { show: false },
            ...(kind === 'bars' && bars ? { paths: bars } : {}),
          },
        ],
        axes: [
          axis,
          { ...axis, size: AXIS_WIDTH_PX, values: (_chart, ticks) => ticks.map(latest.current.show) },
        ],
        scales: {
          x: { range: () => [...latest.current.span] as [number, number] },
          y: { range: (_chart, _min, max) => [0, latest.current.top || max || TOP_MIN] },
        },
      },
      [[], []],
      element,
    );
    chart.current = made;
    const resized = new ResizeObserver(
      () => element.clientWidth && made.setSize({ width: element.clientWidth, height: heightPx }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [kind, heightPx, scheme]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chart that was created again has no data yet
  useEffect(
    () => chart.current?.setData([[...times], [...values]]),
    [times, values, show, kind, heightPx, scheme],
  );
  return <div ref={place} role="img" aria-label={label} />;
}

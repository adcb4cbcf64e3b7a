// What the computer uses, now and since its metrics were opened.
import { Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ComputerMetrics } from '@switchyard/contracts';
import { useEffect, useState } from 'react';
import { useGet } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { bytes, When } from '../parts/show.tsx';
import { Loaded, Panel } from '../parts/state.tsx';
import TimeChart from '../parts/time-chart.tsx';

/** Measurements are not events, so they are polled while the page of the computer is open. */
const MEASURE_MS = 3_000;
const SHOWN_S = 10 * 60;
const SHOWN_S_MIN = 60;
const SAMPLES_MAX = (SHOWN_S * 1_000) / MEASURE_MS;
const CHART_HEIGHT_PX = 140;
/** Top of the network's scale while less is sent and received. */
const NETWORK_TOP_MIN = 1_000;

/** One measurement; network in bytes per second since the previous one. */
interface Sample {
  readonly at: number;
  readonly cores: number;
  readonly memory: number;
  readonly network: number | null;
  readonly networkTotal: number;
}

export default function Metrics({ id }: TabProps) {
  const metrics = useGet<ComputerMetrics>(`/v1/computers/${id}/metrics`, { repeatMs: MEASURE_MS });
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const { data } = metrics;
  useEffect(() => {
    if (data) setSamples((before) => [...before, sampleOf(data, before.at(-1))].slice(-SAMPLES_MAX));
  }, [data]);
  return (
    <Loaded of={metrics}>
      {(now) => (
        <Stack>
          <Text size="sm" c="dimmed">
            Measured <When at={now.measured_at} dateless />, every {MEASURE_MS / 1_000} seconds while this
            page is open.
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <OverTime
              name="Cores"
              samples={samples}
              figureOf={({ cores }) => cores}
              max={now.cpu.cores_max}
              show={(value) => value.toFixed(2)}
            />
            <OverTime
              name="Memory"
              samples={samples}
              figureOf={({ memory }) => memory}
              max={now.memory.bytes_max}
              show={bytes}
            />
            <OverTime
              name="Network"
              samples={samples}
              figureOf={({ network }) => network}
              max={null}
              top={Math.max(NETWORK_TOP_MIN, ...samples.map(({ network }) => network ?? 0))}
              show={(value) => `${bytes(value)}/s`}
            />
            <Stack>
              <Gauge
                name="Disk"
                used={now.disk.workspace_bytes}
                max={now.disk.workspace_bytes_max}
                show={bytes}
              />
              <Gauge
                name="Processes"
                used={now.processes.count}
                max={now.processes.count_max}
                show={String}
              />
            </Stack>
          </SimpleGrid>
        </Stack>
      )}
    </Loaded>
  );
}

function sampleOf(
  { measured_at, cpu, memory, network }: ComputerMetrics,
  before: Sample | undefined,
): Sample {
  const at = Date.parse(measured_at) / 1_000;
  const networkTotal = network.received_bytes + network.sent_bytes;
  const seconds = before ? at - before.at : 0;
  return {
    at,
    cores: cpu.cores_used,
    memory: memory.bytes,
    // A computer that was restarted counts from 0 again.
    network: before && seconds > 0 ? Math.max(0, networkTotal - before.networkTotal) / seconds : null,
    networkTotal,
  };
}

interface FigureProps {
  readonly name: string;
  readonly max: number | null;
  readonly show: (value: number) => string;
}

interface OverTimeProps extends FigureProps {
  /** Top of the scale; by default `max`. */
  readonly top?: number;
  readonly samples: readonly Sample[];
  readonly figureOf: (sample: Sample) => number | null;
}

function OverTime({ name, samples, figureOf, max, top, show }: OverTimeProps) {
  const values = samples.map(figureOf);
  const now = values.at(-1);
  const end = samples.at(-1)?.at ?? 0;
  return (
    <Panel title={name}>
      <Text size="sm" className="number" data-testid={`metric-${name.toLowerCase()}`}>
        {now === null || now === undefined ? '–' : show(now)}
        {max === null ? '' : ` of ${show(max)}`}
      </Text>
      <TimeChart
        label={`${name} over time`}
        kind="line"
        heightPx={CHART_HEIGHT_PX}
        times={samples.map(({ at }) => at)}
        values={values}
        span={[Math.min(samples[0]?.at ?? end, end - SHOWN_S_MIN), end]}
        top={top ?? max}
        show={show}
      />
    </Panel>
  );
}

function Gauge({ name, used, max, show }: FigureProps & { readonly used: number | null }) {
  return (
    <Panel title={name}>
      <Text size="sm" className="number">
        {used === null ? 'unknown' : show(used)}
        {max === null ? '' : ` of ${show(max)}`}
      </Text>
      {max !== null && used !== null && (
        <Progress value={Math.min(100, (used / max) * 100)} aria-label={`${name} in use`} />
      )}
    </Panel>
  );
}

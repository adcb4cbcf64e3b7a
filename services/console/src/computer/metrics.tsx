// What the computer uses at this moment.
import { Button, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ComputerMetrics } from '@switchyard/contracts';
import { useQuery } from '@tanstack/react-query';
import { json } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { bytes, When } from '../parts/show.tsx';
import { Loaded, Panel } from '../parts/state.tsx';

/** Measurements are no events: they are read anew while they are shown. */
const AGAIN_MS = 3_000;

export default function Metrics({ id }: TabProps) {
  const metrics = useQuery({
    queryKey: [`/v1/computers/${id}/metrics`],
    queryFn: ({ signal }) => json<ComputerMetrics>(`/v1/computers/${id}/metrics`, { signal }),
    refetchInterval: AGAIN_MS,
  });
  return (
    <Loaded of={metrics}>
      {({ cpu, memory, disk, network, processes, measured_at }) => (
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <Gauge
              name="Cores"
              used={cpu.cores_used}
              max={cpu.cores_max}
              show={(value) => value.toFixed(2)}
            />
            <Gauge name="Memory" used={memory.bytes} max={memory.bytes_max} show={bytes} />
            <Gauge name="Disk" used={disk.workspace_bytes ?? 0} max={disk.workspace_bytes_max} show={bytes} />
            <Gauge name="Processes" used={processes.count} max={processes.count_max} show={String} />
          </SimpleGrid>
          <Group>
            <Text size="sm">
              Network since its start: {bytes(network.received_bytes)} received, {bytes(network.sent_bytes)}{' '}
              sent. Measured <When at={measured_at} dateless />.
            </Text>
            <Button size="compact-sm" variant="default" onClick={() => void metrics.refetch()}>
              Measure again
            </Button>
          </Group>
        </Stack>
      )}
    </Loaded>
  );
}

interface GaugeProps {
  readonly name: string;
  readonly used: number;
  readonly max: number | null;
  readonly show: (value: number) => string;
}

function Gauge({ name, used, max, show }: GaugeProps) {
  return (
    <Panel title={name}>
      <Text size="sm" className="number">
        {show(used)}
        {max === null ? '' : ` of ${show(max)}`}
      </Text>
      {max !== null && <Progress value={Math.min(100, (used / max) * 100)} aria-label={`${name} in use`} />}
    </Panel>
  );
}

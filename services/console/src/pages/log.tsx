// One call: its attempts on a time line, its cost and what was counted.
import { Anchor, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { LogAttempt, LogEntry } from '@switchyard/contracts';
import { Link } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { useGet } from '../api/client.ts';
import { Code, dollars, Figure, milliseconds, Status, When } from '../parts/show.tsx';
import { Loaded, Page, Panel } from '../parts/state.tsx';

const BASIS = {
  upstream: 'counted by the maker',
  estimated: 'estimated by Switchyard',
  metered: 'by the clock',
};

export default function Log({ id }: { id: string }) {
  /** Set by the list from which this log was opened. */
  const listWithFilters = useHistoryState<string | null>();
  const log = useGet<LogEntry>(`/v1/logs/${encodeURIComponent(id)}`);
  return (
    <Page
      title="One call"
      actions={
        <Anchor component={Link} href={listWithFilters || '/console/logs'} underline="always">
          All logs
        </Anchor>
      }
    >
      <Loaded of={log}>
        {(entry) => (
          <Stack>
            <Group>
              <Status is={entry.status} />
              <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
                {entry.id}
              </Text>
              <When at={entry.at} />
            </Group>
            <SimpleGrid cols={{ base: 2, md: 4 }}>
              <Figure name="Cost" hint={entry.basis === null ? undefined : BASIS[entry.basis]}>
                <span data-testid="log-cost">{dollars(entry.cost)}</span>
              </Figure>
              <Figure name="Total time">{milliseconds(entry.latency_ms)}</Figure>
              <Figure name="First byte">{milliseconds(entry.first_byte_ms)}</Figure>
              <Figure
                name="Model"
                hint={
                  entry.model === entry.requested_model ? undefined : `requested: ${entry.requested_model}`
                }
              >
                <Text size="sm" component="span">
                  {entry.model ?? '–'}
                </Text>
              </Figure>
            </SimpleGrid>
            {Object.keys(entry.quantities).length > 0 && (
              <Panel title="What was counted">
                {Object.entries(entry.quantities).map(([unit, count]) => (
                  <Text key={unit} size="sm">
                    {unit.replaceAll('_', ' ')}: {count.toLocaleString()}
                  </Text>
                ))}
              </Panel>
            )}
            {entry.attempts.length > 0 && <Attempts attempts={entry.attempts} />}
            <Code label="The log as JSON">{JSON.stringify(entry, null, 2)}</Code>
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function Attempts({ attempts }: { attempts: readonly LogAttempt[] }) {
  const total = Math.max(
    1,
    attempts.reduce((sum, { latency_ms }) => sum + latency_ms, 0),
  );
  const startOf = (at: number) => attempts.slice(0, at).reduce((sum, { latency_ms }) => sum + latency_ms, 0);
  return (
    <Panel title="Attempts">
      {attempts.map(({ model, upstream, status, error, latency_ms }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: attempts have an order and no id
        <Stack key={at} gap={2}>
          <Text size="sm">
            {model} at {upstream}: {error ?? 'served'}
            {status === null ? '' : ` (${status})`}, {milliseconds(latency_ms)}
          </Text>
          <div
            className="bar"
            style={{
              marginLeft: `${(startOf(at) / total) * 100}%`,
              width: `${(latency_ms / total) * 100}%`,
              ...(error === null ? {} : { background: 'var(--mantine-color-red-8)' }),
            }}
          />
        </Stack>
      ))}
    </Panel>
  );
}

// Every call and every minute of a computer, newest first, with filters.
import { Anchor, Button, Group, NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core';
import { LOG_STATUSES, type LogEntry, MODEL_TYPES } from '@switchyard/contracts';
import { type InfiniteData, type Query, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { json, queries } from '../api/client.ts';
import { Download } from '../parts/download.tsx';
import { DataTable, dollars, milliseconds, Status, When } from '../parts/show.tsx';
import { Empty, Loaded, Page } from '../parts/state.tsx';

const NO_FILTERS = { status: '', type: '', model: '', computer: '', key: '' };
const ALL = { value: '', label: 'all' };
const TEXT_FILTERS = ['model', 'key', 'computer'] as const;

interface LogPage {
  readonly data: LogEntry[];
  readonly last_id: string | null;
  readonly has_more: boolean;
}

type LogPages = Query<LogPage, Error, InfiniteData<LogPage, string>, string[]>;

export default function Logs() {
  const [filters, setFilters] = useState(NO_FILTERS);
  const set = (name: keyof typeof NO_FILTERS, value: string) =>
    setFilters((before) => ({ ...before, [name]: value }));
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value.trim() !== ''));
  const queryKey = [`/v1/logs?${query}`];
  const logs = useInfiniteQuery({
    queryKey,
    // All pages are loaded again at once: at each call that would be too many requests.
    enabled: ({ state: { data } }: LogPages) => data === undefined || data.pages.length === 1,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      json<LogPage>(`/v1/logs?${query}${pageParam && `&after=${encodeURIComponent(pageParam)}`}`, {
        signal,
      }),
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : null),
  });
  return (
    <Page
      title="Logs"
      actions={
        <Download path={`/v1/logs?${query}&format=csv`} name="logs.csv">
          Export as CSV
        </Download>
      }
    >
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm" style={{ alignItems: 'end' }}>
        <NativeSelect
          label="Status"
          data={[ALL, ...LOG_STATUSES]}
          value={filters.status}
          onChange={(event) => set('status', event.currentTarget.value)}
        />
        <NativeSelect
          label="Type"
          data={[ALL, ...Object.keys(MODEL_TYPES)]}
          value={filters.type}
          onChange={(event) => set('type', event.currentTarget.value)}
        />
        {TEXT_FILTERS.map((name) => (
          <TextInput
            key={name}
            label={name[0]?.toUpperCase() + name.slice(1)}
            value={filters[name]}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        ))}
        <Button variant="default" onClick={() => setFilters(NO_FILTERS)}>
          Clear
        </Button>
      </SimpleGrid>
      <Loaded of={logs}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          if (rows.length === 0)
            return (
              <Empty title="No calls found">
                Make one in the playground, or change the filters. New calls appear by themselves.
              </Empty>
            );
          return (
            <>
              <LogTable rows={rows} />
              <Group>
                {logs.hasNextPage && (
                  <Button
                    variant="default"
                    loading={logs.isFetchingNextPage}
                    onClick={() => void logs.fetchNextPage()}
                  >
                    Load older
                  </Button>
                )}
                {pages.length > 1 && (
                  <>
                    <Button variant="default" onClick={() => void queries.resetQueries({ queryKey })}>
                      Show the newest
                    </Button>
                    <Text size="sm">New calls do not appear while older ones are shown.</Text>
                  </>
                )}
              </Group>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function LogTable({ rows }: { rows: readonly LogEntry[] }) {
  return (
    <DataTable
      label="Logs"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'When',
          show: ({ id, at }) => (
            <Anchor
              component={Link}
              href={`/console/logs/${encodeURIComponent(id)}`}
              size="sm"
              underline="always"
            >
              <When at={at} />
            </Anchor>
          ),
        },
        { title: 'Status', show: ({ status }) => <Status is={status} /> },
        {
          title: 'Model or computer',
          show: (entry) => entry.model ?? entry.computer_id ?? entry.requested_model ?? entry.path ?? '',
        },
        { title: 'Type', show: ({ type, kind }) => type ?? kind.replaceAll('_', ' ') },
        { title: 'Error', show: ({ error_code }) => error_code ?? '' },
        { title: 'Time', number: true, show: ({ latency_ms }) => milliseconds(latency_ms) },
        { title: 'Cost', number: true, show: ({ cost }) => dollars(cost) },
      ]}
    />
  );
}

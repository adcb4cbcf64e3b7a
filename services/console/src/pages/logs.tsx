// Every call and every minute of a computer, newest first, with filters, which the page's address keeps.
import { Anchor, Button, Group, NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { LOG_EXPORT_ROWS_MAX, LOG_STATUSES, type LogEntry, MODEL_TYPES } from '@switchyard/contracts';
import { type InfiniteData, type Query, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'wouter';
import { json, queries } from '../api/client.ts';
import { Download } from '../parts/download.tsx';
import { MomentInput } from '../parts/moment-input.tsx';
import { DataTable, dollars, milliseconds, Status, When } from '../parts/show.tsx';
import { Empty, Loaded, Page } from '../parts/state.tsx';

/** The filters by their names in the API, with their labels. */
const CHOICES = [
  ['status', 'Status', LOG_STATUSES],
  ['type', 'Type', Object.keys(MODEL_TYPES)],
] as const;
const MOMENTS = [
  ['from', 'From'],
  ['to', 'To'],
] as const;
const TEXTS = [
  ['model', 'Model', ''],
  ['key', 'Key', 'key_…'],
  ['computer', 'Computer', 'cmp_…'],
  ['tag', 'Tag', 'team:search'],
  ['request_id', 'Request id', 'req_…'],
  ['client_request_id', 'Client request id', ''],
] as const;
const FILTERS = [...CHOICES, ...MOMENTS, ...TEXTS].map(([name]) => name);
const ALL = { value: '', label: 'all' };
/** Pause in typing before the search. */
const TYPED_MS = 300;

interface LogPage {
  readonly data: LogEntry[];
  readonly last_id: string | null;
  readonly has_more: boolean;
}

type LogPages = Query<LogPage, Error, InfiniteData<LogPage, string>, string[]>;

export default function Logs() {
  const [, setAddress] = useSearchParams(); // the values that it returns are decoded twice
  const address = new URLSearchParams(location.search);
  const filterOf = (name: string) => address.get(name) ?? '';
  const set = (name: string, value: string) => {
    const after = new URLSearchParams(location.search);
    if (value === '') after.delete(name);
    else after.set(name, value);
    setAddress(after, { replace: true });
  };
  const filters = FILTERS.map((name) => [name, filterOf(name).trim()]).filter(([, value]) => value !== '');
  const [query] = useDebouncedValue(new URLSearchParams(filters).toString(), TYPED_MS);
  const queryKey = [`/v1/logs?${query}`];
  const logs = useInfiniteQuery({
    queryKey,
    // A reload loads all pages: at each call, that would be too many requests.
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
        <Group gap="xs">
          <Button variant="default" size="compact-sm" onClick={() => setAddress({}, { replace: true })}>
            Clear the filters
          </Button>
          <Text size="xs" c="dimmed">
            At most {LOG_EXPORT_ROWS_MAX.toLocaleString()} rows, newest first: narrow From and To
          </Text>
          <Download path={`/v1/logs?${query}&format=csv`} name="logs.csv">
            Export as CSV
          </Download>
        </Group>
      }
    >
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm" style={{ alignItems: 'end' }}>
        {CHOICES.map(([name, label, values]) => (
          <NativeSelect
            key={name}
            label={label}
            data={[ALL, ...values]}
            value={filterOf(name)}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        ))}
        {MOMENTS.map(([name, label]) => (
          <MomentInput
            key={name}
            label={label}
            value={filterOf(name)}
            onChange={(value) => set(name, value)}
          />
        ))}
        {TEXTS.map(([name, label, example]) => (
          <TextInput
            key={name}
            label={label}
            placeholder={example}
            value={filterOf(name)}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        ))}
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
  const { search } = location;
  return (
    <DataTable
      label="Logs"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'When',
          show: ({ id, at }) => (
            <Link
              href={`/console/logs/${encodeURIComponent(id)}`}
              state={search && `/console/logs${search}`}
              asChild
            >
              <Anchor size="sm" underline="always">
                <When at={at} />
              </Anchor>
            </Link>
          ),
        },
        { title: 'Status', show: ({ status }) => <Status is={status} /> },
        {
          title: 'Model or computer',
          wraps: true,
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

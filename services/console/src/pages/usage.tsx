// What was used and what it cost, over time and by what.
import { Group, NativeSelect, SimpleGrid } from '@mantine/core';
import { USAGE_GROUPS, type UsageReport, type UsageRow } from '@switchyard/contracts';
import { Suspense, useState } from 'react';
import { useGet } from '../api/client.ts';
import { Download } from '../parts/download.tsx';
import { loadLater } from '../parts/load-later.ts';
import { DataTable, dollars, Figure } from '../parts/show.tsx';
import { Empty, Loaded, Loading, Page, Panel } from '../parts/state.tsx';
import { useNow } from '../parts/use-now.ts';

const CostChart = loadLater(() => import('../parts/cost-chart.tsx'));

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SPANS = {
  day: { label: 'Last 24 hours', ms: 24 * HOUR_MS, interval: 'hour' },
  month: { label: 'Last 30 days', ms: 30 * 24 * HOUR_MS, interval: 'day' },
  year: { label: 'Last 12 months', ms: 365 * 24 * HOUR_MS, interval: 'month' },
} as const;
type Span = keyof typeof SPANS;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export default function Usage() {
  const [span, setSpan] = useState<Span>('day');
  const [group, setGroup] = useState<string>('model');
  const now = useNow(MINUTE_MS);
  const { ms, interval } = SPANS[span];
  const from = new Date(now - ms).toISOString();
  const seriesPath = `/v1/usage?from=${from}&tz=${encodeURIComponent(zone)}&interval=${interval}`;
  const beforePath = `/v1/usage?from=${new Date(now - 2 * ms).toISOString()}&to=${from}`;
  const groupsPath = `/v1/usage?from=${from}&group_by=${group}`;
  return (
    <Page
      title="Usage"
      actions={
        <Download path={`${seriesPath}&format=csv`} name="usage.csv">
          Export as CSV
        </Download>
      }
    >
      <Group>
        <NativeSelect
          label="Time"
          data={Object.entries(SPANS).map(([value, { label }]) => ({ value, label }))}
          value={span}
          onChange={(event) => setSpan(event.currentTarget.value as Span)}
        />
        <NativeSelect
          label="Group by"
          data={[...USAGE_GROUPS]}
          value={group}
          onChange={(event) => setGroup(event.currentTarget.value)}
        />
      </Group>
      {/* A key each: figures of another span or group are never shown in their place. */}
      <Total key={span} interval={interval} path={seriesPath} beforePath={beforePath} />
      <Groups key={`${span} ${group}`} group={group} path={groupsPath} />
    </Page>
  );
}

interface TotalProps {
  readonly interval: string;
  readonly path: string;
  /** Of the period before. */
  readonly beforePath: string;
}

function Total({ interval, path, beforePath }: TotalProps) {
  const series = useGet<UsageReport>(path, { keepsFormer: true });
  const before = useGet<UsageReport>(beforePath, { keepsFormer: true });
  return (
    <Loaded of={series}>
      {(report) => (
        <>
          <SimpleGrid cols={{ base: 2, md: 4 }}>
            <Figure name="Cost" hint={before.data && changeOf(report.total.cost, before.data.total.cost)}>
              <span data-testid="usage-cost">{dollars(report.total.cost)}</span>
            </Figure>
            <Figure name="Calls" hint={before.data && `${before.data.total.calls} in the period before`}>
              {report.total.calls}
            </Figure>
          </SimpleGrid>
          <Panel title={`Cost by ${interval}`}>
            {report.data.length === 0 ? (
              <Empty title="Nothing was used in this time">
                Choose a longer one, or make a call in the playground.
              </Empty>
            ) : (
              <Suspense fallback={<Loading />}>
                <CostChart rows={report.data} interval={interval} from={report.from} to={report.to} />
              </Suspense>
            )}
          </Panel>
        </>
      )}
    </Loaded>
  );
}

function changeOf(now: number, before: number): string {
  if (before === 0) return 'nothing in the period before';
  const share = ((now - before) / before) * 100;
  return `${share >= 0 ? '+' : '−'}${Math.abs(share).toFixed(0)} % to the period before`;
}

function Groups({ group, path }: { group: string; path: string }) {
  const groups = useGet<UsageReport>(path, { keepsFormer: true });
  return <Loaded of={groups}>{({ data }) => <GroupTable rows={data} group={group} />}</Loaded>;
}

function GroupTable({ rows, group }: { rows: readonly UsageRow[]; group: string }) {
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(({ cost }) => cost));
  return (
    <DataTable
      label={`Usage by ${group}`}
      rows={rows.toSorted((a, b) => b.cost - a.cost)}
      idOf={(row) => row.group ?? ''}
      columns={[
        { title: group, show: (row) => row.group ?? `no ${group}` },
        {
          title: 'Share',
          show: ({ cost }) => (
            <div className="bar" style={{ width: `${most === 0 ? 0 : (cost / most) * 100}%` }} />
          ),
        },
        { title: 'Calls', number: true, show: ({ calls }) => calls },
        { title: 'Cost', number: true, show: ({ cost }) => dollars(cost) },
        {
          title: 'Counted',
          show: ({ quantities }) =>
            Object.entries(quantities)
              .map(([unit, count]) => `${count.toLocaleString()} ${unit.replaceAll('_', ' ')}`)
              .join(', '),
        },
      ]}
    />
  );
}

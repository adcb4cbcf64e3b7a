// Usage and its cost, over time and by group.
import { Group, NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import { useDebouncedValue, useInputState } from '@mantine/hooks';
import { USAGE_GROUPS, type UsageReport, type UsageRow } from '@switchyard/contracts';
import { Suspense, useState } from 'react';
import { useGet } from '../api/client.ts';
import { Download } from '../parts/download.tsx';
import { loadLater } from '../parts/load-later.ts';
import { MomentInput } from '../parts/moment-input.tsx';
import { DataTable, dollars, Figure } from '../parts/show.tsx';
import { Empty, Loaded, Loading, Page, Panel } from '../parts/state.tsx';
import { useNow } from '../parts/use-now.ts';

const CostChart = loadLater(() => import('../parts/cost-chart.tsx'));

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SPANS = {
  day: { label: 'Last 24 hours', ms: DAY_MS },
  month: { label: 'Last 30 days', ms: 30 * DAY_MS },
  year: { label: 'Last 12 months', ms: 365 * DAY_MS },
} as const;
type Interval = NonNullable<UsageReport['interval']>;
type Span = keyof typeof SPANS | 'own';
const SPAN_CHOICES = [
  ...Object.entries(SPANS).map(([value, { label }]) => ({ value, label })),
  { value: 'own', label: 'Own range' },
];
const HOURS_SHOWN_MS_MAX = 3 * DAY_MS;
const DAYS_SHOWN_MS_MAX = 92 * DAY_MS;
/** Pause in typing a tag or a year before usage is loaded. */
const TYPED_MS = 500;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export default function Usage() {
  const [span, setSpan] = useInputState<Span>('day');
  const [own, setOwn] = useState({ from: '', to: '' });
  const [group, setGroup] = useInputState<string>('model');
  const [tag, setTag] = useInputState('');
  const [range] = useDebouncedValue(own, TYPED_MS);
  const [tagName] = useDebouncedValue(tag.trim(), TYPED_MS);
  const now = useNow(MINUTE_MS);
  const { from, to } = timesOf(span, range, now);
  const interval = intervalOf(to - from);
  const groupBy = group === 'tag' ? tagName && `tag:${tagName}` : group;
  const until = span === 'own' && range.to !== '' ? `&to=${range.to}` : '';
  const path = `/v1/usage?from=${iso(from)}${until}`;
  const period = span === 'own' ? `${range.from} ${range.to}` : span;
  return (
    <Page title="Usage">
      <Group align="end">
        <NativeSelect label="Time" data={SPAN_CHOICES} value={span} onChange={setSpan} />
        {span === 'own' && (
          <>
            <MomentInput
              label="From"
              description="Empty: 30 days before the end"
              value={own.from}
              onChange={(moment) => setOwn({ ...own, from: moment })}
            />
            <MomentInput
              label="To"
              description="Empty: now"
              value={own.to}
              onChange={(moment) => setOwn({ ...own, to: moment })}
            />
          </>
        )}
        <NativeSelect label="Group by" data={[...USAGE_GROUPS, 'tag']} value={group} onChange={setGroup} />
        {group === 'tag' && (
          <TextInput label="Name of the tag" placeholder="team" value={tag} onChange={setTag} />
        )}
      </Group>
      {/* A key each, so that figures of another time or group are never shown instead. */}
      <Total
        key={period}
        interval={interval}
        path={`${path}&tz=${encodeURIComponent(zone)}&interval=${interval}`}
        beforePath={`/v1/usage?from=${iso(from - (to - from))}&to=${iso(from)}`}
      />
      {groupBy !== '' && (
        <Groups
          key={`${period} ${groupBy}`}
          group={groupBy}
          path={`${path}&group_by=${encodeURIComponent(groupBy)}`}
        />
      )}
    </Page>
  );
}

/** In milliseconds since the epoch. */
function timesOf(span: Span, own: { from: string; to: string }, now: number): { from: number; to: number } {
  if (span !== 'own') return { from: now - SPANS[span].ms, to: now };
  const to = own.to === '' ? now : Date.parse(own.to);
  return { from: own.from === '' ? to - SPANS.month.ms : Date.parse(own.from), to };
}

function intervalOf(ms: number): Interval {
  if (ms <= HOURS_SHOWN_MS_MAX) return 'hour';
  return ms <= DAYS_SHOWN_MS_MAX ? 'day' : 'month';
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

interface TotalProps {
  readonly interval: Interval;
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
          <Panel
            title={`Cost by ${interval}`}
            actions={
              <Download path={`${path}&format=csv`} name={`usage-by-${interval}.csv`}>
                Export the chart as CSV
              </Download>
            }
          >
            {report.data.length === 0 ? (
              <Empty title="No usage in this period">
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
  return `${share >= 0 ? '+' : '−'}${Math.abs(share).toFixed(0)} % vs the period before`;
}

function Groups({ group, path }: { group: string; path: string }) {
  const groups = useGet<UsageReport>(path, { keepsFormer: true });
  return (
    <Loaded of={groups}>
      {({ data }) =>
        data.length > 0 && (
          <Panel
            title={`Usage by ${group}`}
            actions={
              <Download path={`${path}&format=csv`} name={`usage-by-${group.replace(':', '-')}.csv`}>
                Export the table as CSV
              </Download>
            }
          >
            <GroupTable rows={data} group={group} />
          </Panel>
        )
      }
    </Loaded>
  );
}

function GroupTable({ rows, group }: { rows: readonly UsageRow[]; group: string }) {
  const most = Math.max(...rows.map(({ cost }) => cost));
  return (
    <DataTable
      label={`Usage by ${group}`}
      rows={rows.toSorted((a, b) => b.cost - a.cost)}
      idOf={(row) => row.group ?? ''}
      columns={[
        { title: group, wraps: true, show: (row) => row.group ?? `no ${group}` },
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

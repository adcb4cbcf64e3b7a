// What is happening now: spending, calls a minute, computers, and the latest events.
import { Anchor, Paper, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import type { AccountObject, ComputerObject, StreamedEvent, UsageReport } from '@switchyard/contracts';
import { useState } from 'react';
import { Link } from 'wouter';
import { useGet } from '../api/client.ts';
import { useLiveEvents } from '../api/live.ts';
import { useMay } from '../api/session.ts';
import { EventLine } from '../parts/event-line.tsx';
import { isOwnMachine } from '../parts/own-machine.ts';
import { Code, dollars, Figure } from '../parts/show.tsx';
import { Empty, Loaded, Page, Panel } from '../parts/state.tsx';
import { useNow } from '../parts/use-now.ts';
import { callOf, ofLastMinute, type RecentCall } from './recent-calls.ts';

const LATEST_MAX = 12;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export default function Overview() {
  const mayRead = useMay('usage:read');
  if (!mayRead)
    return (
      <Page title="Overview">
        <Empty title="This key may not read usage">
          Sign in with a key that has usage:read to see spending, or try the{' '}
          <Anchor href="/console/playground" component={Link}>
            playground
          </Anchor>
          .
        </Empty>
      </Page>
    );
  return (
    <Page title="Overview">
      <Figures />
      <Latest />
    </Page>
  );
}

function Figures() {
  const today = new Date(new Date(useNow(MINUTE_MS)).setHours(0, 0, 0, 0)).toISOString();
  const account = useGet<AccountObject>('/v1/account');
  const usage = useGet<UsageReport>(`/v1/usage?from=${encodeURIComponent(today)}`);
  const mayComputers = useMay('computers:read');
  const computers = useGet<{ data: ComputerObject[] }>(mayComputers ? '/v1/computers' : null);
  const { perMinute, errors } = useCallsPerMinute();
  const running = computers.data?.data.filter(({ status }) => status === 'running') ?? [];
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      <Paper withBorder p="md">
        <Loaded of={usage}>
          {({ total }) => (
            <Figure name="Spent today" hint={`${total.calls} calls`}>
              <span data-testid="spent-today">{dollars(total.cost)}</span>
            </Figure>
          )}
        </Loaded>
      </Paper>
      <Paper withBorder p="md">
        <Loaded of={account}>
          {({ month, balance }) => (
            <Stack gap={6}>
              <Figure
                name="This month"
                hint={
                  balance !== null
                    ? `${dollars(balance)} of credits left`
                    : month.limit === null
                      ? 'no limit'
                      : `of ${dollars(month.limit)}`
                }
              >
                {dollars(month.spent)}
              </Figure>
              {month.limit !== null && (
                <Progress value={(month.spent / month.limit) * 100} aria-label="Share of the month's limit" />
              )}
            </Stack>
          )}
        </Loaded>
      </Paper>
      <Paper withBorder p="md">
        <Figure name="Calls in the last minute" hint={`${errors} failed or refused`}>
          <span data-testid="calls-per-minute">{perMinute}</span>
        </Figure>
      </Paper>
      <Paper withBorder p="md">
        <Figure
          name="Computers running"
          hint={
            computers.data &&
            (running.length > 0 ? (
              `${dollars(running.reduce((sum, { cost }) => sum + cost, 0))} so far`
            ) : (
              <Anchor component={Link} href="/console/computers" size="xs" underline="always">
                Create one
              </Anchor>
            ))
          }
        >
          {computers.data ? running.length : '–'}
        </Figure>
      </Paper>
    </SimpleGrid>
  );
}

function useCallsPerMinute() {
  const now = useNow(SECOND_MS);
  const [calls, setCalls] = useState<readonly RecentCall[]>([]);
  useLiveEvents((event) => {
    const call = callOf(event, Date.now());
    if (call) setCalls((before) => [...ofLastMinute(before, Date.now()), call]);
  });
  const recent = ofLastMinute(calls, now);
  return { perMinute: recent.length, errors: recent.filter(({ failed }) => failed).length };
}

function Latest() {
  const [events, setEvents] = useState<readonly StreamedEvent[]>([]);
  useLiveEvents((event) => setEvents((before) => [event, ...before].slice(0, LATEST_MAX)));
  const usage = useGet<UsageReport>('/v1/usage');
  const isNew = events.length === 0 && usage.data?.total.calls === 0;
  return (
    <Panel
      title={isNew ? 'First steps' : 'Happening now'}
      actions={
        <Anchor component={Link} href="/console/events" size="sm" underline="always">
          All events
        </Anchor>
      }
    >
      {isNew ? (
        <FirstSteps />
      ) : events.length === 0 ? (
        <Text size="sm" c="dimmed">
          Calls and computers appear here as they happen.
        </Text>
      ) : (
        <Stack gap={6} data-testid="latest">
          {events.map((event) => (
            <EventLine key={event.id} event={event} />
          ))}
        </Stack>
      )}
    </Panel>
  );
}

function FirstSteps() {
  const json = `-H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'`;
  return (
    <Stack>
      <Text size="sm">
        {isOwnMachine ? 'Run these in the folder of the repository' : 'Run these with your API key'}, or try
        the{' '}
        <Anchor component={Link} href="/console/playground" underline="always">
          playground
        </Anchor>
        .
      </Text>
      <Code label="1. Take the key">{isOwnMachine ? 'KEY=$(cat .data/key)' : 'KEY=sy_…'}</Code>
      <Code label="2. Ask a model">
        {`curl ${location.origin}/v1/chat/completions ${json} \\\n  -d '{"model": "local/chat", "messages": [{"role": "user", "content": "What is 6 * 7?"}]}'`}
      </Code>
      <Code label="3. Rent a computer">{`curl ${location.origin}/v1/computers ${json} -d '{}'`}</Code>
    </Stack>
  );
}

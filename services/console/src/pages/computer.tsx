// One computer: its state, and a tab for each way to use it.
import { Anchor, Button, Group, SimpleGrid, Stack, Tabs, Text } from '@mantine/core';
import type { ComputerObject, ComputerStatus } from '@switchyard/contracts';
import { type ComponentType, Suspense, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { call, isGone, refresh, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { Confirm, useWork } from '../parts/action.tsx';
import { LOOK_EVERY_MS, PullProgress } from '../parts/creation-progress.tsx';
import { loadLater } from '../parts/load-later.ts';
import { dollars, Figure, Status, sizeOf, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded, Loading, Page } from '../parts/state.tsx';

export interface TabProps {
  readonly id: string;
}

/** Each keeps what it runs, and what was typed, while another tab is shown. */
const TABS: Record<string, ComponentType<TabProps & { readonly shown: boolean }>> = {
  Terminal: loadLater(() => import('../computer/terminal.tsx')),
  Files: loadLater(() => import('../computer/workspace.tsx')),
  Desktop: loadLater(() => import('../computer/desktop.tsx')),
  Ports: loadLater(() => import('../computer/ports.tsx')),
  Metrics: loadLater(() => import('../computer/metrics.tsx')),
  Activity: loadLater(() => import('../computer/activity.tsx')),
};

/** Stays mounted while the computer does not run, to keep unsaved text. Other tabs connect again when they are shown. */
const KEPT = 'Files';

/** Why a computer cannot be used now, and what to do. */
const UNUSABLE: Record<Exclude<ComputerStatus, 'running'>, { title: string; text: string }> = {
  creating: {
    title: 'The computer is being created',
    text: 'Its image is being pulled. It can be used once it runs.',
  },
  stopped: {
    title: 'The computer is stopped',
    text: 'Start it to use its terminal, files and ports. The files in /workspace are kept.',
  },
  unreachable: {
    title: 'The computer cannot be reached',
    text: 'Its host does not answer. The computer returns with its host, and is not charged meanwhile.',
  },
  error: {
    title: 'The computer has failed',
    text: 'It cannot be started again. Delete it, and create another one.',
  },
};

export default function Computer({ id }: { id: string }) {
  const computer = useGet<ComputerObject>(`/v1/computers/${id}`, {
    // No event says that a creation has failed, or that a host is back.
    repeatMs: (shown) => (shown?.status === 'creating' || shown?.status === 'unreachable') && LOOK_EVERY_MS,
  });
  return (
    <Page
      title={computer.data?.name ?? 'Computer'}
      actions={
        <Anchor component={Link} href="/console/computers" underline="always">
          All computers
        </Anchor>
      }
    >
      {isGone(computer.error) ? (
        <Empty title="There is no such computer">It was deleted, or its creation failed.</Empty>
      ) : (
        <Loaded of={computer}>{(loaded) => <Shown computer={loaded} />}</Loaded>
      )}
    </Page>
  );
}

function Shown({ computer }: { computer: ComputerObject }) {
  const { id, status } = computer;
  const isRunning = status === 'running';
  return (
    <Stack>
      <State computer={computer} />
      {!isRunning && <Empty title={UNUSABLE[status].title}>{UNUSABLE[status].text}</Empty>}
      <div hidden={!isRunning}>
        <Parts id={id} isRunning={isRunning} />
      </div>
    </Stack>
  );
}

function State({ computer }: { computer: ComputerObject }) {
  const { id, name, status, cost, minutes, stops_at, stop_reason, error, progress } = computer;
  const mayWrite = useMay('computers:write');
  const [, go] = useLocation();
  const work = useWork();
  const act = (action: string) =>
    void work.run(async () => {
      await call(`/v1/computers/${id}/${action}`, { method: 'POST' });
      await refresh('/v1/computers');
    });
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Figure name="State" hint={stop_reason ? `stopped: ${stop_reason}` : undefined}>
          <Status is={status} />
        </Figure>
        <Figure name="Cost" hint={`${minutes} minutes`}>
          {dollars(cost)}
        </Figure>
        <Figure name="Size" hint={computer.image}>
          {sizeOf(computer)}
        </Figure>
        <Figure
          name="Stops by itself"
          hint={`after ${computer.idle_stop_minutes} idle minutes, or at the end of its lifetime`}
        >
          {stops_at ? <When at={stops_at} dateless /> : '–'}
        </Figure>
      </SimpleGrid>
      {error && <Text size="sm">{error}</Text>}
      {progress && <PullProgress name={name} progress={progress} />}
      {mayWrite && (
        <Group>
          {status === 'running' && (
            <Button variant="default" size="compact-sm" loading={work.busy} onClick={() => act('stop')}>
              Stop
            </Button>
          )}
          {status === 'stopped' && (
            <Button size="compact-sm" loading={work.busy} onClick={() => act('start')}>
              Start
            </Button>
          )}
          <Confirm
            label="Delete"
            size="compact-sm"
            question={`${name} and all its files are deleted.`}
            work={async () => {
              await call(`/v1/computers/${id}`, { method: 'DELETE' });
              go('/console/computers');
              await refresh('/v1/computers');
            }}
          />
        </Group>
      )}
      {work.error && <Failure error={work.error} />}
    </Stack>
  );
}

function Parts({ id, isRunning }: TabProps & { readonly isRunning: boolean }) {
  const [tab, setTab] = useState('Terminal');
  const [opened, setOpened] = useState<readonly string[]>(['Terminal']);
  useEffect(() => {
    if (!isRunning) setOpened((before) => before.filter((name) => name === tab || name === KEPT));
  }, [isRunning, tab]);
  const choose = (name: string) => {
    setTab(name);
    setOpened((before) => [...new Set([...before, name])]);
    // Commands of the terminal change files, and no event says so.
    if (name === 'Files') void refresh(`/v1/computers/${id}/files`);
  };
  return (
    <Tabs
      value={tab}
      onChange={(chosen) => chosen && choose(chosen)}
      // React's Activity would end the effects, and with them the connections, of a hidden tab.
      keepMountedMode="display-none"
    >
      <Tabs.List mb="sm">
        {Object.keys(TABS).map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(TABS).map(([name, Part]) => (
        <Tabs.Panel key={name} value={name}>
          {opened.includes(name) && (isRunning || name === KEPT) && (
            <Suspense fallback={<Loading />}>
              <Part id={id} shown={isRunning && tab === name} />
            </Suspense>
          )}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

// Webhooks: where events are sent, and how the last deliveries went.
import { Button, Group, MultiSelect, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import {
  EVENTS,
  type WebhookDelivery,
  type WebhookObject,
  type WebhookWithSecret,
} from '@switchyard/contracts';
import { useState } from 'react';
import { call, type Post, refresh, useGet } from '../api/client.ts';
import { refreshSoon, useLiveEvents } from '../api/live.ts';
import { useMay } from '../api/session.ts';
import { Confirm, Dialog, useWork, WorkForm } from '../parts/action.tsx';
import { DataTable, milliseconds, ShownOnce, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded, NotAllowed, Page, Panel } from '../parts/state.tsx';

const NAMES = Object.keys(EVENTS);
const PATTERNS = ['*', ...new Set(NAMES.map((name) => `${name.split('.')[0]}.*`)), ...NAMES];

export default function Webhooks() {
  const may = useMay('keys:write');
  const webhooks = useGet<{ data: WebhookObject[] }>(may ? '/v1/webhooks' : null);
  const [created, setCreated] = useState<WebhookWithSecret | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  if (!may) return <NotAllowed page="Webhooks" to="manage webhooks" needs="keys:write" />;
  return (
    <Page
      title="Webhooks"
      actions={
        <Dialog label="Create a webhook" title="Create a webhook">
          {(close) => (
            <CreateWebhook
              onCreated={(webhook) => {
                setCreated(webhook);
                close();
              }}
            />
          )}
        </Dialog>
      }
    >
      {created && (
        <ShownOnce
          title="The secret"
          label="Secret"
          secret={created.secret}
          onClose={() => setCreated(null)}
        />
      )}
      <Loaded of={webhooks}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No events are sent anywhere">
              Create a webhook to receive them at your address.
            </Empty>
          ) : (
            <WebhookTable rows={data} onRotated={setCreated} onChosen={setChosen} />
          )
        }
      </Loaded>
      {chosen && webhooks.data?.data.some(({ id }) => id === chosen) && <Deliveries id={chosen} />}
    </Page>
  );
}

interface WebhookTableProps {
  readonly rows: readonly WebhookObject[];
  readonly onRotated: (webhook: WebhookWithSecret) => void;
  /** Shows the deliveries of a webhook. */
  readonly onChosen: (id: string) => void;
}

function WebhookTable({ rows, onRotated, onChosen }: WebhookTableProps) {
  const change = async (id: string, method: string, body?: unknown) => {
    await call(`/v1/webhooks/${id}`, { method, body });
    await refresh('/v1/webhooks');
  };
  return (
    <DataTable
      label="Webhooks"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Address',
          wraps: true,
          show: ({ url, description }) => (
            <>
              {url}
              <Text size="xs" c="dimmed">
                {description}
              </Text>
            </>
          ),
        },
        { title: 'Events', show: ({ events }) => events.join(', ') },
        {
          title: 'Enabled',
          show: (webhook) => <Enabled webhook={webhook} change={change} />,
        },
        {
          title: 'Last error',
          show: ({ last_error, disabled_reason }) =>
            last_error ? (
              <Stack gap={0}>
                <Text size="sm">{last_error.message}</Text>
                <When at={last_error.at} />
                {disabled_reason && <Text size="xs">disabled: {disabled_reason}</Text>}
              </Stack>
            ) : (
              'none'
            ),
        },
        {
          title: 'Actions',
          show: ({ id, url }) => (
            <Group gap="xs" wrap="nowrap">
              <Button size="compact-sm" variant="default" onClick={() => onChosen(id)}>
                Deliveries
              </Button>
              <Confirm
                label="New secret"
                color="blue"
                question="The former secret also signs for a day, so you can switch."
                work={async (post) => onRotated(await post<WebhookWithSecret>(`/v1/webhooks/${id}/rotate`))}
              />
              <Confirm
                label="Delete"
                question={`No more events are sent to ${url}.`}
                work={() => change(id, 'DELETE')}
              />
            </Group>
          ),
        },
      ]}
    />
  );
}

interface EnabledProps {
  readonly webhook: WebhookObject;
  readonly change: (id: string, method: string, body: unknown) => Promise<void>;
}

function Enabled({ webhook: { id, status, url }, change }: EnabledProps) {
  const { run, busy, error } = useWork();
  return (
    <Stack gap="xs">
      <Switch
        aria-label={`Send to ${url}`}
        checked={status === 'enabled'}
        disabled={busy}
        onChange={(event) => {
          const body = { status: event.currentTarget.checked ? 'enabled' : 'disabled' };
          void run(() => change(id, 'PATCH', body));
        }}
      />
      {error && <Failure error={error} />}
    </Stack>
  );
}

function Deliveries({ id }: { id: string }) {
  const path = `/v1/webhooks/${id}`;
  const deliveries = useGet<{ data: WebhookDelivery[] }>(`${path}/deliveries`);
  // A refused call may be a request for these deliveries: loading them again would not end.
  useLiveEvents(({ type }) => type !== 'call.refused' && refreshSoon(path));
  const work = useWork();
  const test = () =>
    void work.run(async () => {
      await call(`${path}/test`, { method: 'POST' });
      await refresh(path);
    });
  return (
    <Panel
      title="Last deliveries"
      actions={
        <Button size="compact-sm" loading={work.busy} onClick={test}>
          Send a test event
        </Button>
      }
    >
      {work.error && <Failure error={work.error} />}
      <Loaded of={deliveries}>
        {({ data }) => (
          <DataTable
            label="Last deliveries"
            empty="Nothing was sent in the last week. Send a test event to try the endpoint."
            rows={data}
            idOf={({ event_id, at }) => `${event_id} ${at}`}
            columns={[
              { title: 'When', show: ({ at }) => <When at={at} /> },
              { title: 'Event', show: ({ event_type }) => event_type },
              {
                title: 'Result',
                show: ({ delivered, http_status, message }) =>
                  delivered ? `accepted (${http_status})` : message,
              },
              { title: 'Time', number: true, show: ({ duration_ms }) => milliseconds(duration_ms) },
              {
                title: 'Sent again',
                show: ({ next_attempt_at: next }) => (next ? <When at={next} /> : ''),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function CreateWebhook({ onCreated }: { onCreated: (webhook: WebhookWithSecret) => void }) {
  const [url, setUrl] = useInputState('');
  const [events, setEvents] = useState<string[]>(['*']);
  const [description, setDescription] = useInputState('');
  const create = async (post: Post) => {
    const body = { url, events, ...(description === '' ? {} : { description }) };
    onCreated(await post<WebhookWithSecret>('/v1/webhooks', body));
    await refresh('/v1/webhooks');
  };
  return (
    <WorkForm action="Create" disabled={events.length === 0} work={create}>
      <TextInput
        type="url"
        label="Address"
        placeholder="https://example.com/hooks"
        value={url}
        onChange={setUrl}
        required
        data-autofocus
      />
      <MultiSelect
        label="Events"
        description="* means all"
        data={PATTERNS}
        value={events}
        onChange={setEvents}
        searchable
      />
      <TextInput label="What it is for" value={description} onChange={setDescription} />
    </WorkForm>
  );
}

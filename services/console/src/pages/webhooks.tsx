// Webhooks: where events are sent, and how that goes.
import { Alert, Button, Group, MultiSelect, Stack, Switch, Text, TextInput } from '@mantine/core';
import { EVENTS, type WebhookObject, type WebhookWithSecret } from '@switchyard/contracts';
import { type FormEvent, useState } from 'react';
import { call, json, refresh, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { Confirm, Dialog, useWork } from '../parts/action.tsx';
import { Code, DataTable, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded, Page } from '../parts/state.tsx';

const NAMES = Object.keys(EVENTS);
const PATTERNS = ['*', ...new Set(NAMES.map((name) => `${name.split('.')[0]}.*`)), ...NAMES];

export default function Webhooks() {
  const may = useMay('keys:write');
  const webhooks = useGet<{ data: WebhookObject[] }>(may ? '/v1/webhooks' : null);
  const [created, setCreated] = useState<WebhookWithSecret | null>(null);
  if (!may)
    return (
      <Page title="Webhooks">
        <Empty title="This key may not manage webhooks">Sign in with a key that has keys:write.</Empty>
      </Page>
    );
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
        <Alert
          color="green"
          title="The secret is shown this once"
          withCloseButton
          closeButtonLabel="Close"
          onClose={() => setCreated(null)}
        >
          <Code label="Secret">{created.secret}</Code>
        </Alert>
      )}
      <Loaded of={webhooks}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No events are sent anywhere">
              Create a webhook to get them at an address of yours.
            </Empty>
          ) : (
            <WebhookTable rows={data} onRotated={setCreated} />
          )
        }
      </Loaded>
    </Page>
  );
}

function WebhookTable({
  rows,
  onRotated,
}: {
  rows: readonly WebhookObject[];
  onRotated: (webhook: WebhookWithSecret) => void;
}) {
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
          show: ({ id, status, url }) => (
            <Switch
              aria-label={`Send to ${url}`}
              checked={status === 'enabled'}
              onChange={(event) =>
                void change(id, 'PATCH', { status: event.currentTarget.checked ? 'enabled' : 'disabled' })
              }
            />
          ),
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
              <Confirm
                label="New secret"
                color="blue"
                question="For a day the former secret signs too, so that you can switch."
                work={async () =>
                  onRotated(await json<WebhookWithSecret>(`/v1/webhooks/${id}/rotate`, { method: 'POST' }))
                }
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

function CreateWebhook({ onCreated }: { onCreated: (webhook: WebhookWithSecret) => void }) {
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState<string[]>(['*']);
  const [description, setDescription] = useState('');
  const work = useWork();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const body = { url, events, ...(description === '' ? {} : { description }) };
    await work.run(async () => {
      onCreated(await json<WebhookWithSecret>('/v1/webhooks', { body }));
      await refresh('/v1/webhooks');
    });
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput
          type="url"
          label="Address"
          placeholder="https://example.com/hooks"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
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
        <TextInput
          label="What it is for"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        {work.error && <Failure error={work.error} />}
        <Button type="submit" loading={work.busy} disabled={events.length === 0}>
          Create
        </Button>
      </Stack>
    </form>
  );
}

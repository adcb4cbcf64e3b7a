// The API keys of makers, for the operator: which are set and where, set one, remove it.
import { Badge, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { ProviderObject } from '@switchyard/contracts';
import { call, refresh, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { Confirm, Dialog, WorkForm } from '../parts/action.tsx';
import { DataTable, Named, When } from '../parts/show.tsx';
import { Loaded, NotAllowed, Page } from '../parts/state.tsx';

export default function Providers() {
  const may = useMay('operator');
  const providers = useGet<{ data: ProviderObject[] }>(may ? '/v1/providers' : null);
  if (!may) return <NotAllowed page="Providers" to="manage the keys of makers" needs="operator" />;
  return (
    <Page title="Providers">
      <Loaded of={providers}>{({ data }) => <ProviderTable rows={data} />}</Loaded>
    </Page>
  );
}

function ProviderTable({ rows }: { rows: readonly ProviderObject[] }) {
  return (
    <DataTable
      label="Providers"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Maker',
          show: ({ id, env }) => <Named name={id} id={env} />,
        },
        { title: 'Key', show: (provider) => <KeyState provider={provider} /> },
        { title: 'Source', show: ({ source }) => (source === 'api' ? 'set here' : (source ?? '–')) },
        { title: 'Set at', show: ({ updated_at }) => (updated_at ? <When at={updated_at} /> : '–') },
        { title: 'Actions', show: (provider) => <ProviderActions provider={provider} /> },
      ]}
    />
  );
}

function KeyState({ provider: { has_key, last4, unusable_reason } }: { provider: ProviderObject }) {
  if (unusable_reason !== null)
    return (
      <Stack gap={0} align="flex-start">
        <Badge variant="light" color="red">
          unusable
        </Badge>
        <Text size="xs">{unusable_reason}</Text>
      </Stack>
    );
  return (
    <Group gap="xs" wrap="nowrap">
      <Badge variant="light" color={has_key ? 'green' : 'gray'}>
        {has_key ? 'set' : 'not set'}
      </Badge>
      {last4 && (
        <Text size="sm" ff="monospace">
          …{last4}
        </Text>
      )}
    </Group>
  );
}

function ProviderActions({ provider: { id, env, source, updated_at } }: { provider: ProviderObject }) {
  const remove = async () => {
    await call(pathOf(id), { method: 'DELETE' });
    await refresh('/v1/providers', '/v1/models');
  };
  return (
    <Group gap="xs" wrap="nowrap">
      <Dialog
        label={source === null ? 'Set' : 'Replace'}
        title={`The API key of ${id}`}
        size="compact-sm"
        variant="default"
      >
        {(close) => <SetKey id={id} onSet={close} />}
      </Dialog>
      {updated_at !== null && (
        <Confirm
          label="Remove"
          question={`The key of ${id} that was set here is removed. Calls use ${env} of the environment, if it is set.`}
          work={remove}
        />
      )}
    </Group>
  );
}

function SetKey({ id, onSet }: { id: string; onSet: () => void }) {
  const [apiKey, setApiKey] = useInputState('');
  const set = async () => {
    await call(pathOf(id), { method: 'PUT', body: { api_key: apiKey } });
    await refresh('/v1/providers', '/v1/models');
    onSet();
  };
  return (
    <WorkForm action="Set" work={set}>
      <PasswordInput
        label="API key of the maker"
        description="Stored encrypted and never shown again; calls use it within a second"
        autoComplete="off"
        value={apiKey}
        onChange={setApiKey}
        required
        data-autofocus
      />
    </WorkForm>
  );
}

function pathOf(id: string): string {
  return `/v1/providers/${encodeURIComponent(id)}`;
}

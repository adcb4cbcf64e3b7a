// API keys: create, rotate, revoke, and what each has spent.
import { Checkbox, Group, NativeSelect, NumberInput, SimpleGrid, TextInput } from '@mantine/core';
import {
  ALL_PERMISSIONS,
  type CreatedKey,
  type KeyObject,
  LIMIT_INTERVALS,
  PERMISSIONS,
  type Permission,
} from '@switchyard/contracts';
import { useState } from 'react';
import { call, type Post, refresh, useGet } from '../api/client.ts';
import { useMay, useSession } from '../api/session.ts';
import { Confirm, Dialog, WorkForm } from '../parts/action.tsx';
import { DataTable, dollars, Named, ShownOnce, When } from '../parts/show.tsx';
import { Loaded, NotAllowed, Page } from '../parts/state.tsx';

/** What keys have spent is one request for each: too many to repeat at each call. */
const SPENT_MS = 30_000;

export default function Keys() {
  const may = useMay('keys:write');
  const keys = useGet<{ data: KeyObject[] }>(may ? '/v1/keys' : null);
  const [secret, setSecret] = useState<CreatedKey | null>(null);
  if (!may) return <NotAllowed page="Keys" to="manage keys" needs="keys:write" />;
  return (
    <Page
      title="Keys"
      actions={
        <Dialog label="Create a key" title="Create a key">
          {(close) => (
            <CreateKey
              onCreated={(created) => {
                setSecret(created);
                close();
              }}
            />
          )}
        </Dialog>
      }
    >
      {secret && (
        <ShownOnce
          title={`The key ${secret.name}`}
          label="API key"
          secret={secret.key}
          onClose={() => setSecret(null)}
        />
      )}
      <Loaded of={keys}>{({ data }) => <KeyTable rows={data} onRotated={setSecret} />}</Loaded>
    </Page>
  );
}

function KeyTable({ rows, onRotated }: { rows: readonly KeyObject[]; onRotated: (key: CreatedKey) => void }) {
  const own = useSession().key.id;
  const remove = async (id: string) => {
    await call(`/v1/keys/${id}`, { method: 'DELETE' });
    await refresh('/v1/keys');
  };
  const rotate = async (post: Post, id: string) => {
    onRotated(await post<CreatedKey>(`/v1/keys/${id}/rotate`, {}));
    await refresh('/v1/keys');
  };
  return (
    <DataTable
      label="API keys"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          show: ({ name, prefix, id }) => (
            <Named name={`${name}${id === own ? ' (this session)' : ''}`} id={`${prefix}…`} />
          ),
        },
        {
          title: 'Permissions',
          show: ({ permissions }) =>
            permissions.length === ALL_PERMISSIONS.length ? 'all' : permissions.join(', '),
        },
        {
          title: 'Limit',
          show: ({ limit }) => (limit ? `${dollars(limit.amount)} a ${limit.interval}` : 'none'),
        },
        { title: 'Spent', number: true, show: ({ id }) => <Spent id={id} /> },
        { title: 'Last used', show: ({ id }) => <LastUsed id={id} /> },
        { title: 'Expires', show: ({ expires_at }) => (expires_at ? <When at={expires_at} /> : 'never') },
        {
          title: 'Actions',
          show: ({ id, name }) => (
            <Group gap="xs" wrap="nowrap">
              <Confirm
                label="Rotate"
                color="blue"
                question={`${name} gets a new secret. The former one works for another hour.`}
                work={(post) => rotate(post, id)}
              />
              <Confirm
                label="Revoke"
                question={`Everything that uses ${name} is refused at once. This cannot be undone.`}
                work={() => remove(id)}
              />
            </Group>
          ),
        },
      ]}
    />
  );
}

/** The two columns share one request. */
const useUse = (id: string) =>
  useGet<{ spent: number; last_used_at: string | null }>(`/v1/keys/${id}`, { repeatMs: SPENT_MS });

function Spent({ id }: { id: string }) {
  const { data } = useUse(id);
  return data ? dollars(data.spent) : '–';
}

function LastUsed({ id }: { id: string }) {
  const at = useUse(id).data?.last_used_at;
  return at ? <When at={at} /> : '–';
}

function CreateKey({ onCreated }: { onCreated: (key: CreatedKey) => void }) {
  const held = useSession().key.permissions;
  const [name, setName] = useState('');
  const [permissions, setPermissions] = useState<string[]>(['models:write']);
  const [amount, setAmount] = useState<number | string>('');
  const [interval, setInterval] = useState<string>('month');
  const [models, setModels] = useState('');
  const [expires, setExpires] = useState('');
  const create = async (post: Post) => {
    const list = models.split(/[\s,]+/).filter(Boolean);
    const body = {
      name,
      permissions,
      ...(amount === '' ? {} : { limit: { amount: Number(amount), interval } }),
      ...(list.length === 0 ? {} : { models: list }),
      ...(expires === '' ? {} : { expires_at: new Date(expires).toISOString() }),
    };
    onCreated(await post<CreatedKey>('/v1/keys', body));
    await refresh('/v1/keys');
  };
  return (
    <WorkForm action="Create" disabled={permissions.length === 0} work={create}>
      <TextInput
        label="Name"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        required
        data-autofocus
      />
      <Checkbox.Group label="Permissions" value={permissions} onChange={setPermissions}>
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" mt={6}>
          {ALL_PERMISSIONS.map((one: Permission) => (
            <Checkbox key={one} value={one} label={PERMISSIONS[one]} disabled={!held.includes(one)} />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
      <Group grow>
        <NumberInput
          label="Limit in dollars"
          placeholder="none"
          value={amount}
          onChange={setAmount}
          min={0}
          decimalScale={9}
        />
        <NativeSelect
          label="In each"
          data={[...LIMIT_INTERVALS]}
          value={interval}
          onChange={(event) => setInterval(event.currentTarget.value)}
        />
      </Group>
      <TextInput
        label="Models"
        description="Separated by commas, maker/* for all of a maker; empty: all"
        value={models}
        onChange={(event) => setModels(event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label="Expires"
        description="Empty: never"
        value={expires}
        onChange={(event) => setExpires(event.currentTarget.value)}
      />
    </WorkForm>
  );
}

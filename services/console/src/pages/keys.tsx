// API keys: create, change, rotate, revoke, and what each has spent.
import { Button, Group, Text } from '@mantine/core';
import { ALL_PERMISSIONS, type CreatedKey, type KeyObject } from '@switchyard/contracts';
import { useState } from 'react';
import { call, type Post, refresh, useGet } from '../api/client.ts';
import { useMay, useSession } from '../api/session.ts';
import { Confirm, Dialog } from '../parts/action.tsx';
import { DataTable, dollars, Named, ShownOnce, When } from '../parts/show.tsx';
import { Loaded, NotAllowed, Page } from '../parts/state.tsx';
import { KeyForm } from './key-form.tsx';

/** The spending of each key is one request: too many to repeat at each call. */
const SPENT_MS = 30_000;
/** Keys drawn at first, and more at each press: an org may have 1,000, and a key that is not drawn asks nothing. */
const DRAWN_STEP = 50;

export default function Keys() {
  const may = useMay('keys:write');
  const keys = useGet<{ data: KeyObject[] }>(may ? '/v1/keys' : null);
  const [secret, setSecret] = useState<CreatedKey | null>(null);
  const [drawn, setDrawn] = useState(DRAWN_STEP);
  if (!may) return <NotAllowed page="Keys" to="manage keys" needs="keys:write" />;
  return (
    <Page
      title="Keys"
      actions={
        <Dialog label="Create a key" title="Create a key">
          {(close) => (
            <KeyForm
              save={async (body, post) => {
                setSecret(await post<CreatedKey>('/v1/keys', body));
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
      <Loaded of={keys}>
        {({ data }) => (
          <>
            <KeyTable rows={data.slice(0, drawn)} onRotated={setSecret} />
            {data.length > drawn && (
              <Group>
                <Button variant="default" onClick={() => setDrawn(drawn + DRAWN_STEP)}>
                  Show more
                </Button>
                <Text size="sm">
                  {drawn} of {data.length.toLocaleString()} keys are shown.
                </Text>
              </Group>
            )}
          </>
        )}
      </Loaded>
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
          wraps: true,
          // Usage and Logs name a key by its id.
          show: ({ name, prefix, id }) => (
            <Named name={`${name}${id === own ? ' (this session)' : ''}`} id={`${id} ${prefix}…`} />
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
          show: (key) => (
            <Group gap="xs" wrap="nowrap">
              <Dialog label="Change" title={`Change ${key.name}`} size="compact-sm" variant="default">
                {(close) => (
                  <KeyForm
                    changed={key}
                    save={(body) => call(`/v1/keys/${key.id}`, { method: 'PATCH', body }).then(close)}
                  />
                )}
              </Dialog>
              <Confirm
                label="Rotate"
                color="blue"
                question={`${key.name} gets a new secret. The former one works for another hour.`}
                work={(post) => rotate(post, key.id)}
              />
              <Confirm
                label="Revoke"
                question={`Everything that uses ${key.name} is refused at once. This cannot be undone.`}
                work={() => remove(key.id)}
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

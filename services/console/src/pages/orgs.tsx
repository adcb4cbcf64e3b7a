// The orgs of the installation, for its operator: create, see the account, grant credits, suspend, delete.
import { Badge, Group, NativeSelect, NumberInput, Stack, Text, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import {
  type AccountObject,
  type CreatedOrg,
  DELETED_ORG_DAYS,
  LIST_LIMIT_MAX,
  type OrgObject,
  type UpdateOrgRequest,
} from '@switchyard/contracts';
import { useState } from 'react';
import { call, type Post, refresh, useGet } from '../api/client.ts';
import { useMay, useSession } from '../api/session.ts';
import { AccountFigures } from '../parts/account-figures.tsx';
import { Confirm, Dialog, WorkForm } from '../parts/action.tsx';
import { GrantCredits } from '../parts/grant-credits.tsx';
import { DataTable, dollars, Named, ShownOnce, When } from '../parts/show.tsx';
import { Loaded, NotAllowed, Page } from '../parts/state.tsx';

export default function Orgs() {
  const may = useMay('operator');
  const orgs = useGet<{ data: OrgObject[]; has_more: boolean }>(
    may ? `/v1/orgs?limit=${LIST_LIMIT_MAX}` : null,
  );
  const [created, setCreated] = useState<CreatedOrg | null>(null);
  if (!may) return <NotAllowed page="Orgs" to="manage orgs" needs="operator" />;
  return (
    <Page
      title="Orgs"
      actions={
        <Dialog label="Create an org" title="Create an org">
          {(close) => (
            <CreateOrg
              onCreated={(org) => {
                setCreated(org);
                close();
              }}
            />
          )}
        </Dialog>
      }
    >
      {created && (
        <ShownOnce
          title={`The first key of ${created.name}`}
          label="API key"
          secret={created.key}
          onClose={() => setCreated(null)}
        />
      )}
      <Loaded of={orgs}>
        {({ data, has_more }) => (
          <>
            <OrgTable rows={data} />
            {has_more && <Text size="sm">The API lists more orgs than this page shows.</Text>}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function OrgTable({ rows }: { rows: readonly OrgObject[] }) {
  return (
    <DataTable
      label="Orgs"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          wraps: true,
          show: ({ id, name }) => <Named name={name} id={id} />,
        },
        { title: 'State', show: (org) => <OrgState org={org} /> },
        { title: 'Pays', show: ({ billing }) => billing },
        {
          title: 'Limit',
          // A prepaid org keeps its monthly limit for the day it is postpaid again.
          show: ({ billing, monthly_limit: limit }) =>
            billing === 'prepaid' || limit === null ? 'none' : `${dollars(limit)} a month`,
        },
        { title: 'Created', show: ({ created_at }) => <When at={created_at} /> },
        { title: 'Actions', show: (org) => <OrgActions org={org} /> },
      ]}
    />
  );
}

function OrgState({ org: { status, removed_at } }: { org: OrgObject }) {
  return (
    <Stack gap={0} align="flex-start">
      <Badge variant="light" color={status === 'active' ? 'green' : 'orange'}>
        {status}
      </Badge>
      {removed_at && (
        <Text size="xs">
          data removed <When at={removed_at} />
        </Text>
      )}
    </Stack>
  );
}

function OrgActions({ org: { id, name, status, removed_at } }: { org: OrgObject }) {
  const isOwn = useSession().org === id;
  const change = async (method: 'PATCH' | 'DELETE', body?: UpdateOrgRequest) => {
    await call(`/v1/orgs/${id}`, { method, body });
    await refresh('/v1/orgs');
  };
  return (
    <Group gap="xs" wrap="nowrap">
      <Dialog label="Account" title={`The account of ${name}`} size="compact-sm" variant="default">
        {(close) => (
          <Stack>
            <OrgAccount id={id} />
            <Text fw={600}>Grant credits</Text>
            <GrantCredits path={`/v1/orgs/${id}/credits`} onGranted={close} />
          </Stack>
        )}
      </Dialog>
      {!isOwn && status === 'active' && (
        <Confirm
          label="Suspend"
          color="orange"
          question={`The keys of ${name} are refused and its computers stopped, until it is restored.`}
          work={() => change('PATCH', { status: 'suspended' })}
        />
      )}
      {!isOwn && status === 'suspended' && (
        <Confirm
          label="Restore"
          color="blue"
          question={`The keys of ${name} work again.`}
          work={() => change('PATCH', { status: 'active' })}
        />
      )}
      {!isOwn && removed_at === null && (
        <Confirm
          label="Delete"
          question={`${name} is suspended now, and its data are removed in ${DELETED_ORG_DAYS} days. Its bill is kept.`}
          work={() => change('DELETE')}
        />
      )}
    </Group>
  );
}

function OrgAccount({ id }: { id: string }) {
  const loaded = useGet<AccountObject>(`/v1/orgs/${id}/account`);
  return <Loaded of={loaded}>{(account) => <AccountFigures account={account} />}</Loaded>;
}

const BILLING = ['postpaid', 'prepaid'] as const satisfies readonly OrgObject['billing'][];

function CreateOrg({ onCreated }: { onCreated: (org: CreatedOrg) => void }) {
  const [name, setName] = useInputState('');
  const [billing, setBilling] = useInputState<OrgObject['billing']>('postpaid');
  const [amount, setAmount] = useState<number | string>('');
  const field = billing === 'prepaid' ? 'credits' : 'monthly_limit';
  const create = async (post: Post) => {
    const body = { name, billing, ...(amount === '' ? {} : { [field]: Number(amount) }) };
    onCreated(await post<CreatedOrg>('/v1/orgs', body));
    await refresh('/v1/orgs');
  };
  return (
    <WorkForm action="Create" work={create}>
      <TextInput label="Name" value={name} onChange={setName} required data-autofocus />
      <NativeSelect
        label="Pays"
        description="postpaid: afterwards, up to a limit; prepaid: from its credits"
        data={[...BILLING]}
        value={billing}
        onChange={setBilling}
      />
      <NumberInput
        label={billing === 'prepaid' ? 'Credits in dollars' : 'Monthly limit in dollars'}
        placeholder="none"
        value={amount}
        onChange={setAmount}
        min={0}
        decimalScale={9}
      />
    </WorkForm>
  );
}

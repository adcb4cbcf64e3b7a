// The orgs of the installation, for its operator: create, change, see the account, grant credits, suspend, delete.
import { Badge, Group, Stack, Text } from '@mantine/core';
import {
  type AccountObject,
  type CreatedOrg,
  DELETED_ORG_DAYS,
  LIST_LIMIT_MAX,
  type OrgObject,
  type UpdateOrgRequest,
} from '@switchyard/contracts';
import { useState } from 'react';
import { call, refresh, useGet } from '../api/client.ts';
import { useMay, useSession } from '../api/session.ts';
import { AccountFigures } from '../parts/account-figures.tsx';
import { Confirm, Dialog } from '../parts/action.tsx';
import { GrantCredits } from '../parts/grant-credits.tsx';
import { DataTable, dollars, Named, ShownOnce, When } from '../parts/show.tsx';
import { Loaded, NotAllowed, Page } from '../parts/state.tsx';
import { OrgForm } from './org-form.tsx';

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
            <OrgForm
              save={async (body, post) => {
                setCreated(await post<CreatedOrg>('/v1/orgs', body));
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

function OrgActions({ org }: { org: OrgObject }) {
  const { id, name, status, removed_at } = org;
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
      <Dialog label="Change" title={`Change ${name}`} size="compact-sm" variant="default">
        {(close) => (
          <OrgForm
            changed={org}
            save={(body) => call(`/v1/orgs/${id}`, { method: 'PATCH', body }).then(close)}
          />
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

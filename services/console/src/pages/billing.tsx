// The account: how the org pays, its credits and statements, and whether its books agree.
import { Badge, Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import {
  type AccountObject,
  type accountAudit,
  type creditObject,
  LIST_LIMIT_MAX,
  type StatementSummary,
} from '@switchyard/contracts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call, json, refresh, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { AccountFigures } from '../parts/account-figures.tsx';
import { Confirm, Dialog, useWork } from '../parts/action.tsx';
import { Download } from '../parts/download.tsx';
import { GrantCredits } from '../parts/grant-credits.tsx';
import { DataTable, dollars, When } from '../parts/show.tsx';
import { Failure, Loaded, NotAllowed, Page, Panel } from '../parts/state.tsx';

type AccountAudit = (typeof accountAudit)['_output'];
type CreditObject = (typeof creditObject)['_output'];

export default function Billing() {
  const may = useMay('usage:read');
  if (!may) return <NotAllowed page="Billing" to="read the bill" needs="usage:read" />;
  return (
    <Page title="Billing">
      <Account />
      <Audit />
      <Credits />
      <Statements />
    </Page>
  );
}

function Account() {
  const loaded = useGet<AccountObject>('/v1/account');
  const mayWrite = useMay('operator');
  return (
    <Panel title="Account">
      <Loaded of={loaded}>
        {(account) => (
          <Stack>
            <AccountFigures account={account} />
            {mayWrite && <ChangeAccount billing={account.billing} limit={account.month.limit} />}
          </Stack>
        )}
      </Loaded>
    </Panel>
  );
}

function ChangeAccount({ billing, limit }: { billing: AccountObject['billing']; limit: number | null }) {
  const [amount, setAmount] = useState<number | string>(limit ?? '');
  const work = useWork();
  const other = billing === 'prepaid' ? 'postpaid' : 'prepaid';
  const change = async (body: unknown) => {
    await call('/v1/account', { method: 'PATCH', body });
    await refresh('/v1/account');
  };
  return (
    <Group align="end">
      {billing === 'postpaid' && (
        <>
          <NumberInput
            label="Monthly limit in dollars"
            placeholder="none"
            value={amount}
            onChange={setAmount}
            min={0}
            decimalScale={9}
          />
          <Button
            variant="default"
            loading={work.busy}
            onClick={() =>
              void work.run(() => change({ monthly_limit: amount === '' ? null : Number(amount) }))
            }
          >
            Set the limit
          </Button>
        </>
      )}
      <Confirm
        label={`Switch to ${other}`}
        color="blue"
        size="sm"
        question={
          other === 'prepaid'
            ? 'The org spends its credits, and is refused when they are used up.'
            : 'The org pays afterwards, up to its monthly limit.'
        }
        work={() => change({ billing: other })}
      />
      {work.error && <Failure error={work.error} />}
    </Group>
  );
}

function Audit() {
  // Neither keyed by its path, which every charge makes stale, nor ever stale: it sums up to a day and is repeated only
  // on request.
  const audit = useQuery({
    queryKey: ['audit'],
    queryFn: ({ signal }) => json<AccountAudit>('/v1/account/audit', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Panel title="Books">
      <Loaded of={audit}>
        {({ drift, gapless, answers_wrong, answers_compared, checked_at, from, ledger }) => {
          const agree = drift === 0 && gapless && answers_wrong === 0;
          return (
            <Group>
              <Badge variant="light" color={agree ? 'green' : 'red'}>
                {agree ? 'books agree' : 'books differ'}
              </Badge>
              <Text size="sm">
                Checked <When at={checked_at} />: {dollars(ledger)} since <When at={from} /> in ledger, logs
                and usage
                {agree ? '' : `, drift ${dollars(drift)}`}; {answers_compared} answers compared,{' '}
                {answers_wrong} wrong.
              </Text>
              <Button
                variant="default"
                size="compact-sm"
                loading={audit.isFetching}
                onClick={() => void audit.refetch()}
              >
                Check again
              </Button>
            </Group>
          );
        }}
      </Loaded>
    </Panel>
  );
}

function Credits() {
  const credits = useGet<{ data: CreditObject[]; has_more: boolean }>(`/v1/credits?limit=${LIST_LIMIT_MAX}`);
  const mayWrite = useMay('operator');
  return (
    <Panel
      title="Credits"
      actions={
        mayWrite && (
          <Dialog label="Grant credits" title="Grant credits">
            {(close) => <GrantCredits path="/v1/credits" onGranted={close} />}
          </Dialog>
        )
      }
    >
      <Loaded of={credits}>
        {({ data, has_more }) => (
          <>
            <DataTable
              label="Credits"
              empty="No credits were granted. A prepaid org needs some."
              rows={data}
              idOf={({ id }) => id}
              columns={[
                { title: 'When', show: ({ created_at }) => <When at={created_at} /> },
                { title: 'Reason', wraps: true, show: ({ reason }) => reason },
                { title: 'Reference', wraps: true, show: ({ reference }) => reference ?? '' },
                { title: 'Amount', number: true, show: ({ amount }) => dollars(amount) },
              ]}
            />
            {has_more && <Text size="sm">The API lists more credits than this page shows.</Text>}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function Statements() {
  const statements = useGet<{ data: StatementSummary[] }>('/v1/statements');
  return (
    <Panel title="Statements">
      <Loaded of={statements}>
        {({ data }) => (
          <DataTable
            label="Statements"
            empty="There is a statement for each month with usage."
            rows={data}
            idOf={({ month }) => month}
            columns={[
              { title: 'Month', show: ({ month }) => month },
              { title: 'State', show: ({ status }) => status },
              { title: 'Charges', number: true, show: ({ charges }) => dollars(charges) },
              { title: 'Refunds', number: true, show: ({ refunds }) => dollars(refunds) },
              { title: 'Total', number: true, show: ({ total }) => dollars(total) },
              {
                title: 'Actions',
                show: ({ month }) => (
                  <Download path={`/v1/statements/${month}?format=html`} name={`statement-${month}.html`}>
                    Download to print
                  </Download>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

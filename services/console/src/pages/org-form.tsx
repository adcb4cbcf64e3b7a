// The form of an org, for its operator, to create one or to change it. It sends only changed fields.
import { NativeSelect, NumberInput, TextInput } from '@mantine/core';
import type { OrgObject } from '@switchyard/contracts';
import { useState } from 'react';
import { type Post, refresh } from '../api/client.ts';
import { WorkForm } from '../parts/action.tsx';
import { changesOf } from '../parts/changes-of.ts';
import { type RateLimitFields, RateLimitInputs } from '../parts/rate-limit-inputs.tsx';

const BILLING = ['postpaid', 'prepaid'] as const satisfies readonly OrgObject['billing'][];

const EMPTY_FIELDS = {
  name: '',
  billing: 'postpaid' as OrgObject['billing'],
  /** The first credits of a new prepaid org, else the monthly limit. */
  amount: '' as number | string,
  limits: {} as RateLimitFields,
  markup: '0' as number | string,
};
type Fields = typeof EMPTY_FIELDS;

interface OrgFormProps {
  /** The org to change; absent: a new one. */
  readonly changed?: OrgObject;
  readonly save: (body: Record<string, unknown>, post: Post) => Promise<unknown>;
}

export function OrgForm({ changed, save }: OrgFormProps) {
  const [before] = useState(changed ? fieldsOf(changed) : EMPTY_FIELDS);
  const [fields, setFields] = useState(before);
  const set = (change: Partial<Fields>) => setFields((former) => ({ ...former, ...change }));
  const isPrepaid = fields.billing === 'prepaid';
  const submit = async (post: Post) => {
    const body = changesOf(bodyOf(before, changed), bodyOf(fields, changed));
    if (fields.limits !== before.limits) body.limits = changesOf(before.limits, fields.limits);
    await save(body, post);
    await refresh('/v1/orgs');
  };
  return (
    <WorkForm action={changed ? 'Save' : 'Create'} work={submit}>
      <TextInput
        label="Name"
        value={fields.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        required
        data-autofocus
      />
      <NativeSelect
        label="Pays"
        description="postpaid: afterwards, up to a limit; prepaid: from its credits"
        data={[...BILLING]}
        value={fields.billing}
        onChange={(event) => set({ billing: event.currentTarget.value as OrgObject['billing'] })}
      />
      {!(isPrepaid && changed) && (
        <NumberInput
          label={isPrepaid ? 'Credits in dollars' : 'Monthly limit in dollars'}
          placeholder="none"
          value={fields.amount}
          onChange={(amount) => set({ amount })}
          min={0}
          decimalScale={9}
        />
      )}
      <RateLimitInputs limits={fields.limits} onChange={(limits) => set({ limits })} />
      <NumberInput
        label="Mark-up in percent"
        description="On top of the price list, for later calls, videos and computers"
        value={fields.markup}
        onChange={(markup) => set({ markup })}
        min={0}
        decimalScale={2}
      />
    </WorkForm>
  );
}

function fieldsOf({ name, billing, monthly_limit, limits, markup_percent }: OrgObject): Fields {
  return { name, billing, amount: monthly_limit ?? EMPTY_FIELDS.amount, limits, markup: markup_percent };
}

/** A prepaid org keeps its monthly limit for the day it is postpaid again. */
function bodyOf({ name, billing, amount, markup }: Fields, changed: OrgObject | undefined) {
  const dollars = amount === '' ? null : Number(amount);
  const money = billing === 'postpaid' ? { monthly_limit: dollars } : changed ? {} : { credits: dollars };
  return { name, billing, ...money, markup_percent: String(markup || 0) };
}

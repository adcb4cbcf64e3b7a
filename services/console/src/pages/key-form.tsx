// The form of a key, to create one or to change it. It sends only changed fields.
import { Checkbox, Group, NativeSelect, NumberInput, SimpleGrid, TextInput } from '@mantine/core';
import {
  ALL_PERMISSIONS,
  allows,
  type KeyObject,
  LIMIT_INTERVALS,
  PERMISSIONS,
  type Permission,
} from '@switchyard/contracts';
import { useState } from 'react';
import { type Post, refresh } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { WorkForm } from '../parts/action.tsx';
import { changesOf } from '../parts/changes-of.ts';
import { MomentInput } from '../parts/moment-input.tsx';
import { type RateLimitFields, RateLimitInputs } from '../parts/rate-limit-inputs.tsx';

const EMPTY_FIELDS = {
  name: '',
  permissions: [] as string[],
  amount: '' as number | string,
  interval: 'month' as string,
  models: '',
  expires: '',
  limits: {} as RateLimitFields,
  tags: '',
};
type Fields = typeof EMPTY_FIELDS;

interface KeyFormProps {
  /** The key to change; absent: a new one. */
  readonly changed?: KeyObject;
  readonly save: (body: Record<string, unknown>, post: Post) => Promise<unknown>;
}

export function KeyForm({ changed, save }: KeyFormProps) {
  const held = useSession().key.permissions;
  const [before] = useState(changed ? fieldsOf(changed) : EMPTY_FIELDS);
  const [fields, setFields] = useState(changed ? before : { ...EMPTY_FIELDS, permissions: ['models:write'] });
  const set = (change: Partial<Fields>) => setFields((former) => ({ ...former, ...change }));
  const submit = async (post: Post) => {
    const body = changesOf(bodyOf(before), bodyOf(fields));
    if (fields.limits !== before.limits) body.limits = changesOf(before.limits, fields.limits);
    await save(body, post);
    await refresh('/v1/keys');
  };
  return (
    <WorkForm action={changed ? 'Save' : 'Create'} disabled={fields.permissions.length === 0} work={submit}>
      <TextInput
        label="Name"
        value={fields.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        required
        data-autofocus
      />
      <Checkbox.Group
        label="Permissions"
        value={fields.permissions}
        onChange={(permissions) => set({ permissions })}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" mt={6}>
          {ALL_PERMISSIONS.map((one: Permission) => (
            <Checkbox key={one} value={one} label={PERMISSIONS[one]} disabled={!allows(held, one)} />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
      <Group grow>
        <NumberInput
          label="Limit in dollars"
          placeholder="none"
          value={fields.amount}
          onChange={(amount) => set({ amount })}
          min={0}
          decimalScale={9}
        />
        <NativeSelect
          label="Per"
          data={[...LIMIT_INTERVALS]}
          value={fields.interval}
          onChange={(event) => set({ interval: event.currentTarget.value })}
        />
      </Group>
      <RateLimitInputs limits={fields.limits} onChange={(limits) => set({ limits })} />
      <TextInput
        label="Models"
        description="Separated by commas, maker/* for all of a maker; empty: all"
        value={fields.models}
        onChange={(event) => set({ models: event.currentTarget.value })}
      />
      <TextInput
        label="Tags"
        description="For all its calls and computers: team=search, user=42"
        value={fields.tags}
        onChange={(event) => set({ tags: event.currentTarget.value })}
      />
      <MomentInput
        label="Expires"
        description="Empty: never"
        value={fields.expires}
        onChange={(expires) => set({ expires })}
      />
    </WorkForm>
  );
}

function fieldsOf({ name, permissions, limit, models, limits, metadata, expires_at }: KeyObject): Fields {
  return {
    name,
    permissions,
    amount: limit?.amount ?? EMPTY_FIELDS.amount,
    interval: limit?.interval ?? EMPTY_FIELDS.interval,
    models: models?.join(', ') ?? '',
    expires: expires_at ?? '',
    limits,
    tags: Object.entries(metadata)
      .map(([tag, value]) => `${tag}=${value}`)
      .join(', '),
  };
}

function bodyOf({ name, permissions, amount, interval, models, expires, tags }: Fields) {
  const list = models.split(/[\s,]+/).filter(Boolean);
  const pairs = tags.split(',').filter((text) => text.trim() !== '');
  return {
    name,
    permissions,
    limit: amount === '' ? null : { amount: Number(amount), interval },
    models: list.length === 0 ? null : list,
    expires_at: expires === '' ? null : expires,
    metadata: pairs.length === 0 ? null : Object.fromEntries(pairs.map(tagOf)),
  };
}

function tagOf(text: string): [name: string, value: string] {
  const [name = '', ...value] = text.split('=');
  return [name.trim(), value.join('=').trim()];
}

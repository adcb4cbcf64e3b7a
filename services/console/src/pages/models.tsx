// The catalog: what can be called here, at which price, and what to set for the rest.
import { Badge, Group, NativeSelect, NumberInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import { MODEL_TYPES, type ModelObject, type ModelType } from '@switchyard/contracts';
import { useState } from 'react';
import { useGet } from '../api/client.ts';
import { DataTable } from '../parts/show.tsx';
import { Empty, Loaded, Page } from '../parts/state.tsx';

const MILLION = 1_000_000;

export default function Models() {
  const models = useGet<{ data: ModelObject[] }>('/v1/models');
  const [text, setText] = useInputState('');
  const [type, setType] = useInputState('');
  const [price, setPrice] = useState<number | string>('');
  const [available, setAvailable] = useInputState(true);
  return (
    <Page title="Models">
      <Group align="end">
        <TextInput label="Search" value={text} onChange={setText} />
        <NativeSelect
          label="Type"
          data={[{ value: '', label: 'all' }, ...Object.keys(MODEL_TYPES)]}
          value={type}
          onChange={setType}
        />
        <NumberInput
          label="Price at most"
          placeholder="any"
          prefix="$"
          value={price}
          onChange={setPrice}
          min={0}
          w={130}
        />
        <Switch
          label="Only those that can be called here"
          checked={available}
          onChange={setAvailable}
          mb={8}
        />
      </Group>
      <Loaded of={models}>
        {({ data }) => {
          const wanted = text.toLowerCase();
          const rows = data.filter(
            (model) =>
              (type === '' || model.type === (type as ModelType)) &&
              (!available || model.available) &&
              (price === '' || highestPrice(model) <= Number(price)) &&
              `${model.id} ${model.name} ${model.description}`.toLowerCase().includes(wanted),
          );
          if (rows.length === 0)
            return (
              <Empty title="No model found">
                Change the filters, or include models that cannot be called here.
              </Empty>
            );
          return <ModelTable rows={rows} />;
        }}
      </Loaded>
    </Page>
  );
}

function ModelTable({ rows }: { rows: readonly ModelObject[] }) {
  return (
    <DataTable
      label="Models"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Model',
          show: ({ id, description }) => (
            <Stack gap={0}>
              <Text size="sm" fw={600}>
                {id}
              </Text>
              <Text size="xs" c="dimmed">
                {description}
              </Text>
            </Stack>
          ),
        },
        { title: 'Type', show: ({ type }) => type },
        { title: 'Price', show: ({ pricing }) => <Prices pricing={pricing} /> },
        { title: 'Context', number: true, show: (model) => model.context_length?.toLocaleString() ?? '–' },
        {
          title: 'Here',
          show: ({ available, unavailable_reason: why }) =>
            available ? (
              <Badge variant="light" color="green">
                ready
              </Badge>
            ) : (
              <Text size="xs">{why}</Text>
            ),
        },
      ]}
    />
  );
}

/** Of all units of a model, as shown: tokens by the million. */
function highestPrice({ pricing }: Pick<ModelObject, 'pricing'>): number {
  const prices = Object.entries(pricing).flatMap(([unit, price]) =>
    typeof price === 'object'
      ? Object.values(price).map(Number)
      : [Number(price) * (unit.endsWith('token') ? MILLION : 1)],
  );
  return Math.max(...prices);
}

function Prices({ pricing }: Pick<ModelObject, 'pricing'>) {
  const lines = Object.entries(pricing).map(([unit, price]) => {
    const name = unit.replaceAll('_', ' ');
    if (typeof price === 'object')
      return `${name}: ${Object.entries(price)
        .map(([size, rate]) => `$${Number(rate)} (${size})`)
        .join(', ')}`;
    if (unit.endsWith('token')) return `${name}s: $${Number((Number(price) * MILLION).toFixed(6))} a million`;
    return `${name}: $${Number(price)}`;
  });
  return lines.map((line) => (
    <Text key={line} size="xs">
      {line}
    </Text>
  ));
}

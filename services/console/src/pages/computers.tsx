// Rented computers: live list with cost, and creation with the price an hour.
import {
  Anchor,
  Button,
  Group,
  NativeSelect,
  NumberInput,
  Slider,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { ComputerObject, ComputerOptions } from '@switchyard/contracts';
import { type FormEvent, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { refresh, useGet } from '../api/client.ts';
import { useMay } from '../api/session.ts';
import { Dialog, useWork } from '../parts/action.tsx';
import { Creations } from '../parts/creation-progress.tsx';
import { DataTable, dollars, Status, sizeOf, When } from '../parts/show.tsx';
import { Empty, Failure, Loaded, NotAllowed, Page } from '../parts/state.tsx';

const OWN_IMAGE = 'own';
const MB_PER_GB = 1_024;

export default function Computers() {
  const mayRead = useMay('computers:read');
  const mayWrite = useMay('computers:write');
  const computers = useGet<{ data: ComputerObject[] }>(mayRead ? '/v1/computers' : null);
  if (!mayRead) return <NotAllowed page="Computers" to="see computers" needs="computers:read" />;
  return (
    <Page
      title="Computers"
      actions={
        mayWrite && (
          <Dialog label="Create a computer" title="Create a computer">
            {() => <CreateComputer />}
          </Dialog>
        )
      }
    >
      <Loaded of={computers}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No computers yet">
              Create one: it is ready in about a second, and stops by itself when it is idle.
            </Empty>
          ) : (
            <ComputerTable rows={data} />
          )
        }
      </Loaded>
    </Page>
  );
}

function ComputerTable({ rows }: { rows: readonly ComputerObject[] }) {
  return (
    <DataTable
      label="Computers"
      rows={rows}
      idOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          wraps: true,
          show: ({ id, name }) => (
            <Anchor component={Link} href={`/console/computers/${id}`} size="sm" underline="always">
              {name}
            </Anchor>
          ),
        },
        { title: 'State', show: ({ status }) => <Status is={status} /> },
        { title: 'Size', show: sizeOf },
        {
          title: 'Stops',
          show: ({ stops_at, stop_reason }) =>
            stops_at ? <When at={stops_at} dateless /> : stop_reason ? `stopped: ${stop_reason}` : '',
        },
        { title: 'Cost', number: true, show: ({ cost }) => dollars(cost) },
      ]}
    />
  );
}

function CreateComputer() {
  const options = useGet<ComputerOptions>('/v1/computers/options');
  return <Loaded of={options}>{(loaded) => <CreateForm options={loaded} />}</Loaded>;
}

function CreateForm({
  options: { cpu, memory_mb, images, pricing, idle_stop_minutes, max_lifetime_minutes },
}: {
  options: ComputerOptions;
}) {
  const [name, setName] = useInputState('');
  const [cores, setCores] = useState(cpu.default);
  const [memory, setMemory] = useState(memory_mb.default);
  const [image, setImage] = useInputState(images[0]?.id ?? OWN_IMAGE);
  const [ownImage, setOwnImage] = useInputState('');
  const [idle, setIdle] = useState<number | string>('');
  const [, go] = useLocation();
  const form = useRef<HTMLFormElement>(null);
  const work = useWork();
  const perHour =
    60 *
    (pricing.per_minute +
      cores * pricing.per_vcpu_minute +
      (memory / MB_PER_GB) * pricing.per_gb_memory_minute +
      pricing.disk_gb * pricing.per_gb_disk_minute);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const chosen = image === OWN_IMAGE ? ownImage : image;
    const body = {
      ...{ cpu: cores, memory_mb: memory, image: chosen },
      ...(name.trim() === '' ? {} : { name }),
      ...(idle === '' ? {} : { idle_stop_minutes: Number(idle) }),
    };
    await work.run(async (post) => {
      const { id } = await post<ComputerObject>('/v1/computers', body);
      await refresh('/v1/computers');
      if (form.current) go(`/console/computers/${id}`); // not when the dialog was closed meanwhile
    });
  };
  return (
    <form ref={form} onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput label="Name" placeholder="generated" value={name} onChange={setName} data-autofocus />
        <Sized label={`Cores: ${cores}`} range={cpu} value={cores} onChange={setCores} />
        <Sized label={`Memory: ${memory} MB`} range={memory_mb} value={memory} onChange={setMemory} />
        <NativeSelect
          label="Image"
          data={[
            ...images.map(({ id, name: label }) => ({ value: id, label })),
            { value: OWN_IMAGE, label: 'another image' },
          ]}
          value={image}
          onChange={setImage}
        />
        {image === OWN_IMAGE && (
          <TextInput
            label="Name of the image"
            placeholder="python:3.13-slim"
            value={ownImage}
            onChange={setOwnImage}
            required
          />
        )}
        <NumberInput
          label="Idle minutes until it stops"
          placeholder={String(idle_stop_minutes)}
          value={idle}
          onChange={setIdle}
          min={1}
          max={max_lifetime_minutes}
          allowDecimal={false}
        />
        <Group justify="space-between">
          <Text size="sm">
            <b>{dollars(perHour)}</b> an hour while it runs, idle minutes included.
          </Text>
          <Button type="submit" loading={work.busy}>
            Create
          </Button>
        </Group>
        {work.busy && <Creations />}
        {work.error && <Failure error={work.error} />}
      </Stack>
    </form>
  );
}

interface SizedProps {
  readonly label: string;
  readonly range: { min: number; max: number; step: number };
  readonly value: number;
  readonly onChange: (value: number) => void;
}

function Sized({ label, range, value, onChange }: SizedProps) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <Slider {...range} value={value} onChange={onChange} label={null} thumbLabel={label} />
    </Stack>
  );
}

// Servers inside the computer, and its desktop: opened by links, which need no session and give no access to it.
import { Anchor, Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import type { ComputerDesktop, ComputerLink } from '@switchyard/contracts';
import { type FormEvent, useState } from 'react';
import { json } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { useWork } from '../parts/action.tsx';
import { Code, When } from '../parts/show.tsx';
import { Failure, Panel } from '../parts/state.tsx';

export default function Ports({ id }: TabProps) {
  return (
    <Stack maw={720}>
      <Port id={id} />
      <Desktop id={id} />
    </Stack>
  );
}

function Port({ id }: TabProps) {
  const [port, setPort] = useState<number | string>(8000);
  const [link, setLink] = useState<ComputerLink | null>(null);
  const work = useWork();
  const make = (event: FormEvent) => {
    event.preventDefault();
    void work.run(async () =>
      setLink(await json<ComputerLink>(`/v1/computers/${id}/links`, { body: { port: Number(port) } })),
    );
  };
  return (
    <Panel title="Open a port">
      <form onSubmit={make}>
        <Group align="end">
          <NumberInput
            label="Port"
            value={port}
            onChange={setPort}
            min={1}
            max={65_535}
            allowDecimal={false}
          />
          <Button type="submit" loading={work.busy}>
            Make a link
          </Button>
        </Group>
      </form>
      {work.error && <Failure error={work.error} />}
      {link && <Opened url={link.url} until={link.expires_at} name="Open the page" />}
    </Panel>
  );
}

function Desktop({ id }: TabProps) {
  const [desktop, setDesktop] = useState<ComputerDesktop | null>(null);
  const work = useWork();
  return (
    <Panel title="Desktop">
      <Group>
        <Button
          loading={work.busy}
          onClick={() =>
            void work.run(async () =>
              setDesktop(await json<ComputerDesktop>(`/v1/computers/${id}/desktop`, { body: {} })),
            )
          }
        >
          Start the desktop
        </Button>
      </Group>
      {work.error && <Failure error={work.error} />}
      {desktop && <Opened url={desktop.url} until={desktop.expires_at} name="Open the desktop" />}
    </Panel>
  );
}

function Opened({ url, until, name }: { url: string; until: string; name: string }) {
  return (
    <Stack gap="xs">
      <Anchor href={url} target="_blank" rel="noopener noreferrer" underline="always">
        {name} in a new tab
      </Anchor>
      <Text size="sm">
        Whoever has the link can use it until <When at={until} />.
      </Text>
      <Code label="Link">{url}</Code>
    </Stack>
  );
}

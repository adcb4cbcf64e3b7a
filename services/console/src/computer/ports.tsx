// Servers inside the computer, opened by links: a link needs no session, and gives no access to the console.
import { Anchor, Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import type { ComputerLink } from '@switchyard/contracts';
import { type FormEvent, useState } from 'react';
import { json } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { useWork } from '../parts/action.tsx';
import { Code, When } from '../parts/show.tsx';
import { Failure, Panel } from '../parts/state.tsx';

export default function Ports({ id }: TabProps) {
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
      {link && <Opened link={link} />}
    </Panel>
  );
}

function Opened({ link: { url, expires_at } }: { link: ComputerLink }) {
  return (
    <Stack gap="xs">
      <Anchor href={url} target="_blank" rel="noopener noreferrer" underline="always">
        Open the page in a new tab
      </Anchor>
      <Text size="sm">
        Anyone who has the link can use it until <When at={expires_at} />.
      </Text>
      <Code label="Link">{url}</Code>
    </Stack>
  );
}

// Asks before a sign-in link replaces the session: otherwise anyone could sign a visitor in as somebody else by a link.
import { Button, Center, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { SessionObject } from '@switchyard/contracts';
import { useWork } from '../parts/action.tsx';
import { Failure } from '../parts/state.tsx';

interface ReplaceSessionProps {
  readonly current: SessionObject;
  readonly onReplace: () => Promise<void>;
  readonly onStay: () => void;
}

export function ReplaceSession({ current: { key }, onReplace, onStay }: ReplaceSessionProps) {
  const work = useWork();
  return (
    <Center mih="100vh" p="md" component="main">
      <title>Sign in · Switchyard</title>
      <Paper withBorder p="xl" w="100%" maw={420}>
        <Stack>
          <Title order={1} size="h3">
            Replace your session?
          </Title>
          <Text size="sm">
            You are signed in as <b>{key.name}</b>. The link that you opened signs this browser in with the
            key of whoever created it. Use it only if you trust its sender.
          </Text>
          {work.error && <Failure error={work.error} />}
          <Group>
            <Button onClick={onStay} data-autofocus>
              Stay signed in
            </Button>
            <Button variant="default" loading={work.busy} onClick={() => void work.run(onReplace)}>
              Use the link
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Center>
  );
}

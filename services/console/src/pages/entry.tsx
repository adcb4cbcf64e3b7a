// Shown outside a session: sign-in, and the confirmation of a sign-in link.
import { Anchor, Button, Center, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { SessionObject } from '@switchyard/contracts';
import { type ReactNode, useState } from 'react';
import { signIn } from '../api/client.ts';
import { useWork, WorkForm } from '../parts/action.tsx';
import { isOwnMachine } from '../parts/own-machine.ts';
import { Failure } from '../parts/state.tsx';

export function EntryCard({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Center mih="100vh" p="md" component="main">
      <title>Sign in · Switchyard</title>
      <Paper withBorder p="xl" w="100%" maw={420}>
        <Stack>
          <Title order={1} size="h3">
            {title}
          </Title>
          {children}
        </Stack>
      </Paper>
    </Center>
  );
}

interface SignInProps {
  /** Why a sign-in link was refused, or a session has ended; until the next try. */
  readonly refusal: string | null;
  readonly onSignedIn: (session: SessionObject) => void;
}

export function SignIn({ refusal, onSignedIn }: SignInProps) {
  const [key, setKey] = useInputState('');
  const [isTried, setIsTried] = useState(false);
  const enter = async () => {
    setIsTried(true);
    onSignedIn(await signIn({ key: key.trim() }));
  };
  return (
    <EntryCard title="Sign in to Switchyard">
      <Text size="sm" c="dimmed">
        Use an API key. It is exchanged for a session of twelve hours and not stored in this browser.
      </Text>
      {refusal !== null && !isTried && <Failure error={new Error(refusal)} />}
      <WorkForm action="Sign in" work={enter}>
        <PasswordInput
          label="API key"
          value={key}
          onChange={setKey}
          autoComplete="off"
          required
          autoFocus
          data-autofocus
        />
      </WorkForm>
      <Text size="xs" c="dimmed">
        {isOwnMachine ? (
          <>
            <code>npm start</code> prints a link that signs you in, and keeps the first key in{' '}
            <code>.data/key</code>.
          </>
        ) : (
          'The operator of this installation gives you a key.'
        )}{' '}
        The API is described in the <Anchor href="/docs">reference</Anchor>.
      </Text>
    </EntryCard>
  );
}

interface ReplaceSessionProps {
  readonly current: SessionObject;
  readonly onReplace: () => Promise<void>;
  readonly onStay: () => void;
}

/** Asks before a sign-in link replaces the session: otherwise anyone could sign a visitor in as somebody else by a link. */
export function ReplaceSession({ current: { key }, onReplace, onStay }: ReplaceSessionProps) {
  const work = useWork();
  return (
    <EntryCard title="Replace your session?">
      <Text size="sm">
        You are signed in as <b>{key.name}</b>. The link that you opened signs this browser in with the key of
        whoever created it. Use it only if you trust its sender.
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
    </EntryCard>
  );
}

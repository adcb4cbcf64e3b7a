import { Anchor, Button, Center, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { SessionObject } from '@switchyard/contracts';
import type { FormEvent } from 'react';
import { signIn } from '../api/client.ts';
import { useWork } from '../parts/action.tsx';
import { isOwnMachine } from '../parts/own-machine.ts';
import { Failure } from '../parts/state.tsx';

interface SignInProps {
  /** Why a sign-in link, or the session before, was refused. */
  readonly refusal: string | null;
  readonly onSignedIn: (session: SessionObject) => void;
}

export function SignIn({ refusal, onSignedIn }: SignInProps) {
  const [key, setKey] = useInputState('');
  const work = useWork();
  const error = work.error ?? (refusal === null ? null : new Error(refusal));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void work.run(async () => onSignedIn(await signIn({ key: key.trim() })));
  };
  return (
    <Center mih="100vh" p="md" component="main">
      <title>Sign in · Switchyard</title>
      <Paper withBorder p="xl" w="100%" maw={420}>
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h3">
              Sign in to Switchyard
            </Title>
            <Text size="sm" c="dimmed">
              With an API key. It is exchanged for a session of twelve hours and stored nowhere in this
              browser.
            </Text>
            {error && <Failure error={error} />}
            <PasswordInput
              label="API key"
              value={key}
              onChange={setKey}
              autoComplete="off"
              required
              autoFocus
              data-autofocus
            />
            <Button type="submit" loading={work.busy}>
              Sign in
            </Button>
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
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

// The session: the sign-in page, the question of a sign-in link, or the pages inside.
import { Center, Loader } from '@mantine/core';
import type { SessionObject } from '@switchyard/contracts';
import { useEffect, useState } from 'react';
import { ApiError, signIn, whenSignedOut } from './api/client.ts';
import { followEvents } from './api/live.ts';
import { SessionContext } from './api/session.ts';
import { ReplaceSession } from './pages/replace-session.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { Shell } from './shell.tsx';

/** Reads the token of a sign-in link once, and removes it from the address and the history. */
function takeLinkToken(): string | null {
  if (location.pathname !== '/sign-in') return null;
  const token = new URLSearchParams(location.search).get('token');
  history.replaceState(null, '', '/');
  return token;
}

const linkToken = takeLinkToken();

export function App() {
  const [session, setSession] = useState<SessionObject | null | undefined>(undefined);
  const [refusal, setRefusal] = useState<string | null>(null);
  /** A sign-in link that was opened while someone is signed in. */
  const [waitingToken, setWaitingToken] = useState<string | null>(null);
  const redeem = (token: string) =>
    signIn({ token }).then(setSession, (error: Error) => {
      setRefusal(error.message);
      setSession(null);
    });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is loaded
  useEffect(() => {
    whenSignedOut(() => setSession(null));
    signIn(null).then(
      (current) => {
        setWaitingToken(linkToken);
        setSession(current);
      },
      (error: unknown) => {
        const nobody = error instanceof ApiError && error.status === 401;
        if (linkToken !== null && nobody) void redeem(linkToken);
        else setSession(null);
      },
    );
  }, []);
  const mayFollow = waitingToken === null && session?.key.permissions.includes('usage:read');
  useEffect(() => (mayFollow ? followEvents() : undefined), [mayFollow]);
  if (session === undefined)
    return (
      <Center mih="100vh">
        <Loader aria-label="Loading" />
      </Center>
    );
  if (session === null) return <SignIn refusal={refusal} onSignedIn={setSession} />;
  if (waitingToken !== null)
    return (
      <ReplaceSession
        current={session}
        onReplace={async () => {
          setSession(await signIn({ token: waitingToken }));
          setWaitingToken(null);
        }}
        onStay={() => setWaitingToken(null)}
      />
    );
  return (
    <SessionContext value={session}>
      <Shell />
    </SessionContext>
  );
}

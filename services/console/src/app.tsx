// The session: either the sign-in page, or the pages inside.
import { Center, Loader } from '@mantine/core';
import type { SessionObject } from '@switchyard/contracts';
import { useEffect, useState } from 'react';
import { signIn, whenSignedOut } from './api/client.ts';
import { followEvents } from './api/live.ts';
import { SessionContext } from './api/session.ts';
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
  useEffect(() => {
    whenSignedOut(() => setSession(null));
    signIn(linkToken === null ? null : { token: linkToken }).then(setSession, (error: Error) => {
      if (linkToken !== null) setRefusal(error.message);
      setSession(null);
    });
  }, []);
  const mayFollow = session?.key.permissions.includes('usage:read');
  useEffect(() => (mayFollow ? followEvents() : undefined), [mayFollow]);
  if (session === undefined)
    return (
      <Center mih="100vh">
        <Loader aria-label="Loading" />
      </Center>
    );
  if (session === null) return <SignIn refusal={refusal} onSignedIn={setSession} />;
  return (
    <SessionContext value={session}>
      <Shell />
    </SessionContext>
  );
}

// The session: the sign-in page, the confirmation of a sign-in link, or the pages.
import { Center, Loader } from '@mantine/core';
import type { SessionObject } from '@switchyard/contracts';
import { useEffect, useState } from 'react';
import { ApiError, signIn, whenSignedOut } from './api/client.ts';
import { followEvents } from './api/live.ts';
import { SessionContext } from './api/session.ts';
import { EntryCard, ReplaceSession, SignIn } from './pages/entry.tsx';
import { Failure } from './parts/state.tsx';
import { Shell } from './shell.tsx';

/** Reads the token of a sign-in link once, and removes it from the address and the history. */
function takeLinkToken(): string | null {
  if (location.pathname !== '/sign-in') return null;
  const token = new URLSearchParams(location.search).get('token');
  history.replaceState(null, '', '/');
  return token;
}

const linkToken = takeLinkToken();

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500;
}

export function App() {
  const [session, setSession] = useState<SessionObject | null | undefined>(undefined);
  /** Why a sign-in link was refused, or a session has ended. */
  const [refusal, setRefusal] = useState<string | null>(null);
  /** The API gave neither a session nor a refusal. */
  const [failure, setFailure] = useState<Error | null>(null);
  /** A sign-in link that was opened while someone is signed in. */
  const [waitingToken, setWaitingToken] = useState<string | null>(null);
  const enter = async () => {
    try {
      const current = await signIn(null);
      setWaitingToken(linkToken);
      return current;
    } catch (error) {
      if (linkToken === null || !isRefusal(error)) throw error;
      return signIn({ token: linkToken });
    }
  };
  const begin = () => {
    setFailure(null);
    enter().then(setSession, (error: Error) => {
      if (!isRefusal(error)) return setFailure(error);
      if (error.code !== 'missing_api_key') setRefusal(error.message);
      setSession(null);
    });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is loaded
  useEffect(() => {
    whenSignedOut((reason) => {
      setRefusal(reason);
      setWaitingToken(null);
      setSession(null);
    });
    begin();
  }, []);
  const mayFollow = waitingToken === null && session?.key.permissions.includes('usage:read');
  useEffect(() => (mayFollow ? followEvents() : undefined), [mayFollow]);
  if (failure)
    return (
      <EntryCard title="Switchyard">
        <Failure error={failure} again={begin} />
      </EntryCard>
    );
  if (session === undefined)
    return (
      <Center mih="100vh">
        <Loader aria-label="Loading" />
      </Center>
    );
  if (session === null) {
    const enterBy = (signedIn: SessionObject) => {
      setRefusal(null);
      setSession(signedIn);
    };
    return <SignIn refusal={refusal} onSignedIn={enterBy} />;
  }
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

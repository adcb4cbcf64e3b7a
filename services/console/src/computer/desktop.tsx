// The desktop of the computer, by noVNC. Its WebSocket goes through a link that this session creates.
import { Button, Group, Stack, Text } from '@mantine/core';
import Rfb from '@novnc/novnc';
import type { ComputerDesktop } from '@switchyard/contracts';
import { useEffect, useRef, useState } from 'react';
import { json } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { Failure } from '../parts/state.tsx';
import { LEAVE_KEYS, onLeaveKeys } from './leave-by-keys.ts';
import { linkSocket } from './link-socket.ts';

const STATES = {
  starting: 'The desktop is starting …',
  connected: `Click the desktop to use it. Press ${LEAVE_KEYS} to leave it by keyboard.`,
  ended: 'The desktop was disconnected.',
} as const;

export default function Desktop({ id }: TabProps) {
  const place = useRef<HTMLDivElement>(null);
  const keys = useRef<HTMLButtonElement>(null);
  const screen = useRef<Rfb | null>(null);
  const [state, setState] = useState<keyof typeof STATES>('starting');
  const [error, setError] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(1);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt connects again
  useEffect(() => {
    const left = new AbortController();
    setState('starting');
    setError(null);
    const show = async () => {
      const { url } = await json<ComputerDesktop>(`/v1/computers/${id}/desktop`, {
        body: {},
        signal: left.signal,
      });
      const rfb = new Rfb(place.current as HTMLDivElement, linkSocket(new URL('websockify', url).href));
      rfb.scaleViewport = true;
      rfb.background = 'transparent';
      rfb.addEventListener('connect', () => setState('connected'));
      rfb.addEventListener('disconnect', () => setState('ended'));
      screen.current = rfb;
    };
    show().catch((refused: Error) => left.signal.aborted || setError(refused));
    return () => {
      left.abort();
      screen.current?.disconnect();
      screen.current = null;
    };
  }, [id, attempt]);

  const leave = () => {
    keys.current?.focus();
    // noVNC then releases the keys that are held: it does not see them go up.
    window.dispatchEvent(new Event('blur'));
  };
  return (
    <Stack gap="xs">
      {error && <Failure error={error} again={() => setAttempt(attempt + 1)} />}
      <Group gap="xs">
        <Button
          ref={keys}
          size="compact-sm"
          variant="default"
          disabled={state !== 'connected'}
          onClick={() => screen.current?.focus()}
        >
          Type into the desktop
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={state !== 'connected'}
          onClick={() => void place.current?.requestFullscreen()}
        >
          Full screen
        </Button>
        {state === 'ended' && (
          <Button size="compact-sm" onClick={() => setAttempt(attempt + 1)}>
            Connect again
          </Button>
        )}
      </Group>
      <section
        className="desktop"
        ref={place}
        aria-label="Desktop"
        data-state={state}
        onKeyDownCapture={onLeaveKeys(leave)}
      />
      {!error && (
        <Text size="xs" c="dimmed" role="status">
          {STATES[state]}
        </Text>
      )}
    </Stack>
  );
}

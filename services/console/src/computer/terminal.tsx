// A terminal in the computer. Its WebSocket is a link that this session makes: the cookie opens no WebSocket.
import '@xterm/xterm/css/xterm.css';
import { Button, Group, Stack, Text } from '@mantine/core';
import type { ComputerLink } from '@switchyard/contracts';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as Screen } from '@xterm/xterm';
import { useEffect, useRef, useState } from 'react';
import { json } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { Failure } from '../parts/state.tsx';

export default function Terminals({ id }: TabProps) {
  const [tabs, setTabs] = useState([1]);
  const [shown, setShown] = useState(1);
  const close = (tab: number) => {
    const left = tabs.filter((one) => one !== tab);
    setTabs(left);
    setShown(left.at(-1) ?? 0);
  };
  const open = () => {
    const next = Math.max(0, ...tabs) + 1;
    setTabs([...tabs, next]);
    setShown(next);
  };
  return (
    <Stack gap="xs">
      <Group gap="xs">
        {tabs.map((tab) => (
          <Button
            key={tab}
            size="compact-sm"
            variant={tab === shown ? 'filled' : 'default'}
            aria-pressed={tab === shown}
            onClick={() => setShown(tab)}
          >
            Terminal {tab}
          </Button>
        ))}
        <Button size="compact-sm" variant="default" onClick={open}>
          New
        </Button>
        {tabs.length > 0 && (
          <Button size="compact-sm" variant="default" onClick={() => close(shown)}>
            Close
          </Button>
        )}
      </Group>
      {tabs.map((tab) => (
        <div key={tab} hidden={tab !== shown}>
          <Terminal id={id} shown={tab === shown} />
        </div>
      ))}
      <Text size="xs" c="dimmed">
        Programs end with their terminal. Control and Shift and Tab leaves it by keyboard.
      </Text>
    </Stack>
  );
}

function Terminal({ id, shown }: { id: string; shown: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const fit = useRef<FitAddon | null>(null);
  const [ended, setEnded] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const screen = new Screen({
      fontSize: 13,
      cursorBlink: true,
      screenReaderMode: true,
      theme: { background: '#141517' },
    });
    const fitting = new FitAddon();
    fit.current = fitting;
    screen.loadAddon(fitting);
    screen.open(place.current as HTMLDivElement);
    fitting.fit();
    leaveByKeys(screen);
    let socket: WebSocket | null = null;
    let left = false;
    connect(id, screen).then(
      (opened) => {
        socket = opened;
        if (left) return opened.close();
        opened.onclose = ({ reason }) =>
          setEnded(reason === '' ? 'The terminal has ended.' : `The terminal has ended: ${reason}`);
      },
      (refused: Error) => setError(refused),
    );
    const resized = new ResizeObserver(() => place.current?.clientWidth && fitting.fit());
    resized.observe(place.current as HTMLDivElement);
    return () => {
      left = true;
      resized.disconnect();
      socket?.close();
      screen.dispose();
    };
  }, [id]);
  useEffect(() => {
    if (shown) fit.current?.fit();
  }, [shown]);
  return (
    <Stack gap="xs">
      {error && <Failure error={error} />}
      <div className="shell" ref={place} />
      {ended && <Text size="sm">{ended}</Text>}
    </Stack>
  );
}

async function connect(id: string, screen: Screen): Promise<WebSocket> {
  const { url } = await json<ComputerLink>(`/v1/computers/${id}/links`, { body: {} });
  // The console's own origin: the policy of this page allows no other.
  const { pathname } = new URL(url);
  const address = new URL(`${pathname}?cols=${screen.cols}&rows=${screen.rows}`, location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(address);
  socket.binaryType = 'arraybuffer';
  const keys = new TextEncoder();
  const whenOpen = (data: string | Uint8Array<ArrayBuffer>) =>
    socket.readyState === WebSocket.OPEN && socket.send(data);
  screen.onData((text) => whenOpen(keys.encode(text)));
  screen.onResize(({ cols, rows }) => whenOpen(JSON.stringify({ type: 'resize', cols, rows })));
  socket.onmessage = ({ data }) => {
    if (typeof data !== 'string') screen.write(new Uint8Array(data as ArrayBuffer));
  };
  return socket;
}

function leaveByKeys(screen: Screen): void {
  screen.attachCustomKeyEventHandler((event) => !(event.key === 'Tab' && event.ctrlKey && event.shiftKey));
}

// Terminals in the computer, in tabs. Each WebSocket goes through a link that this session creates: the session cookie
// itself opens no WebSocket.
import '@xterm/xterm/css/xterm.css';
import { Button, Group, Stack, Text } from '@mantine/core';
import type { ComputerLink } from '@switchyard/contracts';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal as Xterm } from '@xterm/xterm';
import { useEffect, useRef, useState } from 'react';
import { json } from '../api/client.ts';
import type { TabProps } from '../pages/computer.tsx';
import { Failure } from '../parts/state.tsx';
import { LEAVE_KEYS, onLeaveKeys } from './leave-by-keys.ts';
import { linkSocket } from './link-socket.ts';

/** Bytes that wait to be drawn: browsers cannot slow a WebSocket down, and xterm throws at 50 MB. */
const UNDRAWN_BYTES_MAX = 48_000_000;
const CUT = '\r\n[Output is missing here: it came faster than it can be shown.]\r\n';
/** Longer pastes take several: the API ends a terminal at a message over 1 MiB. */
const MESSAGE_BYTES_MAX = 64 * 1024;
/** Keys that write nothing by themselves. */
const MODIFIERS: ReadonlySet<string> = new Set(['Alt', 'AltGraph', 'Control', 'Meta', 'Shift']);

export default function Terminals({ id }: TabProps) {
  const [tabs, setTabs] = useState([1]);
  const [shown, setShown] = useState(1);
  const shownButton = useRef<HTMLButtonElement>(null);
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
            ref={tab === shown ? shownButton : null}
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
        <div
          key={tab}
          hidden={tab !== shown}
          onKeyDownCapture={onLeaveKeys(() => shownButton.current?.focus())}
        >
          <Terminal id={id} shown={tab === shown} />
        </div>
      ))}
      <Text size="xs" c="dimmed">
        Programs end with their terminal. Press {LEAVE_KEYS} to leave it by keyboard.
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
    const xterm = new Xterm({
      fontSize: 13,
      cursorBlink: true,
      screenReaderMode: true,
      theme: { background: '#141517' },
    });
    const fitting = new FitAddon();
    fit.current = fitting;
    xterm.loadAddon(fitting);
    xterm.open(place.current as HTMLDivElement);
    fitting.fit();
    sendTextWithoutKeys(xterm);
    let socket: WebSocket | null = null;
    let left = false;
    connect(id, xterm).then(
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
      xterm.dispose();
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

async function connect(id: string, xterm: Xterm): Promise<WebSocket> {
  const { url } = await json<ComputerLink>(`/v1/computers/${id}/links`, { body: {} });
  const size = { cols: String(xterm.cols), rows: String(xterm.rows) };
  const socket = new WebSocket(linkSocket(url, size));
  socket.binaryType = 'arraybuffer';
  const keys = new TextEncoder();
  const whenOpen = (data: string | Uint8Array<ArrayBuffer>) =>
    socket.readyState === WebSocket.OPEN && socket.send(data);
  const sendInParts = (bytes: Uint8Array<ArrayBuffer>) => {
    for (let at = 0; at < bytes.length; at += MESSAGE_BYTES_MAX)
      whenOpen(bytes.subarray(at, at + MESSAGE_BYTES_MAX));
  };
  xterm.onData((text) => sendInParts(keys.encode(text)));
  // The mouse, for programs that ask for its oldest form: each character is a byte.
  xterm.onBinary((text) => sendInParts(Uint8Array.from(text, (one) => one.charCodeAt(0))));
  xterm.onResize(({ cols, rows }) => whenOpen(JSON.stringify({ type: 'resize', cols, rows })));
  let undrawn = 0;
  let isCut = false;
  socket.onmessage = ({ data }) => {
    if (undrawn === 0) isCut = false;
    if (typeof data === 'string' || isCut) return;
    isCut = undrawn > UNDRAWN_BYTES_MAX;
    const output = isCut ? CUT : new Uint8Array(data as ArrayBuffer);
    undrawn += output.length;
    xterm.write(output, () => {
      undrawn -= output.length;
    });
  };
  return socket;
}

/** From emoji pickers, the accents of a held key, dictation: in screen reader mode xterm leaves such text out. */
function sendTextWithoutKeys(xterm: Xterm): void {
  const typed = xterm.textarea as HTMLTextAreaElement;
  let isKeyDown = false;
  const notice = (event: Event) => {
    const { key } = event as KeyboardEvent;
    if (event.type !== 'input') isKeyDown = event.type === 'keydown' && !MODIFIERS.has(key);
    const { inputType, data } = event as InputEvent;
    if (inputType === 'insertText' && data && !isKeyDown) xterm.input(data);
  };
  // Capturing, because xterm stops the propagation of keys. A key that goes up elsewhere is not seen: hence blur.
  for (const type of ['keydown', 'keyup', 'blur', 'input'])
    typed.addEventListener(type, notice, { capture: true });
}

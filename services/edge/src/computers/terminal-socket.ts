// A terminal over WebSocket. Binary messages are bytes, both ways; text messages are JSON: `resize` from the client,
// `exit` as our last message. Closing the socket ends the terminal.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { hostTerminalEnd, ServiceError, type TerminalInput, terminalMessage } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { PendingUpgrade } from '../http/upgrades.ts';
import type { CallStream } from './call-stream.ts';

/** Maximum bytes of one client message: a long paste. */
const MESSAGE_BYTES_MAX = 1024 * 1024;
/** Bytes of keys in one line to the computer. Longer pastes take several: its host buffers little. */
const KEYS_BYTES_MAX = 16 * 1024;
/**
 * A client that sends nothing between two pings is disconnected, unless it waits for a slow shell. Pings also keep
 * proxies from closing the connection.
 */
const PING_MS = 30_000;
const CLOSE = { normal: 1000, invalid: 1007, failed: 1011 } as const;

interface AskedTerminal {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly upgrade: PendingUpgrade;
}

/** Resolves when terminal and socket have ended. */
export async function serveTerminal(
  { request, requestId, upgrade }: AskedTerminal,
  terminal: CallStream,
  clock: Clock,
): Promise<void> {
  const connection = upgrade.accept();
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
  });
  server.on('headers', (headers) => headers.push(`X-Request-Id: ${requestId}`));
  const opened = Promise.withResolvers<WebSocket>();
  connection.once('close', () => opened.reject(new Error('The client disconnected.')));
  server.handleUpgrade(request, connection, upgrade.head, opened.resolve);
  try {
    const socket = await opened.promise;
    const stopPings = ping(socket, clock);
    socket.on('error', () => socket.terminate());
    socket.on('message', (data, isBinary) => take(socket, terminal, data, isBinary));
    socket.once('close', () => terminal.destroy());
    await show(socket, terminal);
    stopPings();
    if (socket.readyState !== socket.CLOSED) await once(socket, 'close');
  } catch {
    connection.destroy(); // the client left before the handshake completed
  } finally {
    terminal.destroy();
  }
}

function take(socket: WebSocket, terminal: CallStream, data: RawData, isBinary: boolean): void {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
  let hasRoom = true;
  const put = (input: TerminalInput) => {
    hasRoom = terminal.write(`${JSON.stringify(input)}\n`);
  };
  if (isBinary)
    for (let at = 0; at < bytes.length; at += KEYS_BYTES_MAX)
      put({ keys: bytes.subarray(at, at + KEYS_BYTES_MAX).toString('base64') });
  else {
    const message = readMessage(bytes);
    if (!message)
      return socket.close(CLOSE.invalid, 'Invalid text message. Send {"type":"resize","cols":80,"rows":24}.');
    put({ cols: message.cols, rows: message.rows });
  }
  if (hasRoom || terminal.destroyed) return;
  socket.pause();
  terminal.once('drain', () => socket.resume());
}

function readMessage(bytes: Buffer) {
  try {
    return terminalMessage.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

async function show(socket: WebSocket, terminal: CallStream): Promise<void> {
  try {
    for await (const bytes of terminal) await send(socket, bytes, true);
    const { exit_code } = hostTerminalEnd.parse(await terminal.answerEnd);
    await send(socket, JSON.stringify({ type: 'exit', exit_code }), false);
    socket.close(CLOSE.normal);
  } catch (error) {
    socket.close(CLOSE.failed, error instanceof ServiceError ? error.code : 'internal_error');
  }
}

/** Resolves when the client's connection has accepted the data. */
function send(socket: WebSocket, data: Buffer | string, binary: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(data, { binary }, (error) => (error ? reject(error) : resolve()));
  });
}

function ping(socket: WebSocket, clock: Clock): () => void {
  let isAlive = true;
  const heard = () => {
    isAlive = true;
  };
  socket.on('pong', heard).on('message', heard);
  const beat = () => {
    const isUnread = socket.isPaused; // its pong may be unread, too
    if (!isAlive && !isUnread) return socket.terminate();
    isAlive = isUnread;
    socket.ping();
    stop = clock.after(PING_MS, beat);
  };
  let stop = clock.after(PING_MS, beat);
  return () => stop();
}

// Upstreams that misbehave below the reach of an HTTP server: sockets that a script writes to byte by byte, an unknown
// host name, a TLS server without a certificate.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** One request, read whole, and the socket that its answer goes to. */
export interface RawExchange {
  socket: Socket;
  /** The model asked for. */
  model: string;
  stream: boolean;
  /** How often this model was asked for before. */
  earlier: number;
  /** Runs repeatedly until the other side is gone. */
  every(ms: number, run: () => void): void;
  /** Runs once, unless the other side is gone by then. */
  after(ms: number, run: () => void): void;
}

export type RawScript = (exchange: RawExchange) => void;

export interface RawUpstream {
  /** Base URL, `/v1` included. */
  url: string;
  /** The same port, asked for TLS, which it does not speak. */
  tlsUrl: string;
  /** How often a model was asked for. */
  asked(model: string): number;
  close(): Promise<void>;
}

/** Serves each model by the script that `scriptOf` has for it. */
export async function startRawUpstream(scriptOf: (model: string) => RawScript): Promise<RawUpstream> {
  const asked = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const timers: NodeJS.Timeout[] = [];
    socket.on('error', () => {}); // the other side resets what it gives up
    socket.on('close', () => {
      sockets.delete(socket);
      for (const timer of timers) clearTimeout(timer);
    });
    readRequests(socket, ({ model, stream }) => {
      const earlier = asked.get(model) ?? 0;
      asked.set(model, earlier + 1);
      scriptOf(model)({
        socket,
        model,
        stream,
        earlier,
        every: (ms, run) => timers.push(setInterval(run, ms)),
        after: (ms, run) => timers.push(setTimeout(run, ms)),
      });
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    tlsUrl: `https://127.0.0.1:${port}/v1`,
    asked: (model) => asked.get(model) ?? 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A TLS server that has no certificate to show: every handshake fails. Returns its base URL and how to end it. */
export async function startTlsWithoutCertificate(): Promise<{ url: string; close(): void }> {
  const server = createTlsServer({});
  server.on('tlsClientError', () => {});
  const port = await listen(server);
  return { url: `https://127.0.0.1:${port}/v1`, close: () => void server.close() };
}

/** A port that accepts connections and stays silent: a TLS handshake with it never ends. */
export async function startSilence(): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
  });
  const port = await listen(server);
  return {
    url: `https://127.0.0.1:${port}/v1`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** RFC 2606 reserves this name. */
export const UNKNOWN_HOST_URL = 'http://no-such-host.invalid/v1';

/** The head of a 200 with its Content-Length. */
export function headOf(contentType: string, bytes: number): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncontent-length: ${bytes}\r\n\r\n`;
}

/** A whole answer. */
export function answer(status: number, body: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Whatever\r\ncontent-type: application/json\r\n${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The head of a stream of events, in chunks: one that is cut can be told from one that ended. */
export const SSE_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n';
export const SSE_END = '0\r\n\r\n';

/** Events as one chunk of a body. */
export function events(...data: (string | object)[]): string {
  const text = data
    .map((one) => (typeof one === 'string' ? one : `data: ${JSON.stringify(one)}`))
    .map((event) => `${event}\n\n`)
    .join('');
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The first byte of a client that speaks TLS to a port that does not. */
const TLS_HANDSHAKE = 0x16;

/** Reads requests and reports each once its body is complete. */
function readRequests(socket: Socket, told: (body: { model: string; stream: boolean }) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (more) => {
    bytes = Buffer.concat([bytes, more]);
    if (bytes[0] === TLS_HANDSHAKE) return void socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    for (;;) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1', 0, end))?.[1] ?? 0);
      const whole = end + 4 + length;
      if (bytes.length < whole) return;
      const { model, stream = false } = JSON.parse(bytes.toString('utf8', end + 4, whole)) as {
        model: string;
        stream?: boolean;
      };
      bytes = bytes.subarray(whole);
      told({ model, stream });
    }
  });
}

// The frames that the agent and a computer's init exchange; ../../init/protocol.h describes them.

export const PROTOCOL_VERSION = 4;
/** The init of a container that an earlier agent started is as old as that one: since which version it knows what. */
export const SINCE = { execs: 1, execFlags: 2, files: 2, streams: 3, stop: 4 } as const;
export const EXEC_ID_BYTES_MAX = 64;
export const STDIN_BYTES_MAX = 4 * 1024 * 1024;
export const FRAME_PAYLOAD_BYTES_MAX = 8 * 1024 * 1024;
const HEAD_BYTES = 9;

export type RequestType =
  | 'E'
  | 'A'
  | 'W'
  | 'K'
  | 'R'
  | 'L'
  | 'M'
  | 'P'
  | 'T'
  | 's'
  | 'd'
  | 'g'
  | 'w'
  | 'z'
  | 'c';
export type ReplyType = 'H' | 'O' | 'X' | 'F' | 'L' | 'M' | 'P';

export interface Frame {
  readonly type: string;
  readonly channel: number;
  /** Valid only until the callback returns: it is a view of the socket's buffer. */
  readonly payload: Buffer;
}

const START_FLAGS = { hasStdin: 1, streamed: 2, kept: 4 } as const;
const FLAGS = { timedOut: 1, truncated: 2, cancelled: 4 } as const;
const UNREADABLE = 0xffff_ffff;

export function encodeFrame(
  type: RequestType,
  channel: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  frame.write(type, 0, 'latin1');
  frame.writeUInt32LE(channel, 1);
  frame.writeUInt32LE(payload.length, 5);
  frame.set(payload, HEAD_BYTES);
  return frame;
}

export interface StartPayload {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly stdin: Uint8Array | undefined;
  readonly streamed: boolean;
  readonly kept: boolean;
}

/** None of the strings may hold a zero byte. */
export function encodeStart(start: StartPayload): Buffer {
  const entries = Object.entries(start.env).map(([name, value]) => `${name}=${value}`);
  const numbers = Buffer.alloc(16);
  numbers.writeUInt32LE(start.timeoutMs, 0);
  numbers.writeUInt32LE(start.outputBytesMax, 4);
  numbers.writeUInt32LE(entries.length, 8);
  const flags =
    (start.stdin ? START_FLAGS.hasStdin : 0) |
    (start.streamed ? START_FLAGS.streamed : 0) |
    (start.kept ? START_FLAGS.kept : 0);
  numbers.writeUInt32LE(flags, 12);
  const strings = [start.id, start.command, start.cwd, ...entries].map((text) => `${text}\0`).join('');
  return Buffer.concat([numbers, Buffer.from(strings), start.stdin ?? Buffer.alloc(0)]);
}

export type StreamRequest =
  | { readonly kind: 'port'; readonly port: number }
  | {
      readonly kind: 'terminal';
      readonly columns: number;
      readonly rows: number;
      /** Added to the image's own environment; none may hold a zero byte. */
      readonly env: Readonly<Record<string, string>>;
    };

const STREAM_KINDS = { port: 1, terminal: 2 } as const;

/** @param creditBytes that the init may send before the first grant */
export function encodeOpenStream(request: StreamRequest, creditBytes: number): Buffer {
  const numbers = Buffer.alloc(12);
  numbers.writeUInt32LE(STREAM_KINDS[request.kind], 0);
  numbers.writeUInt32LE(creditBytes, 4);
  if (request.kind === 'port') {
    numbers.writeUInt16LE(request.port, 8);
    return numbers;
  }
  numbers.writeUInt16LE(request.columns, 8);
  numbers.writeUInt16LE(request.rows, 10);
  const env = Object.entries(request.env).map(([name, value]) => `${name}=${value}\0`);
  return Buffer.concat([numbers, Buffer.from(env.join(''))]);
}

export function encodeId(id: string): Buffer {
  return Buffer.from(`${id}\0`);
}

/** So many more bytes of output may come. */
export function encodeWindow(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32LE(bytes);
  return payload;
}

export function encodePaths(paths: readonly string[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(''));
}

/** The files' contents in the order of their paths; null for one that cannot be read. */
export function decodeFiles(payload: Buffer): (string | null)[] {
  const files: (string | null)[] = [];
  for (let at = 0; at < payload.length; ) {
    const bytes = payload.readUInt32LE(at);
    at += 4;
    if (bytes === UNREADABLE) {
      files.push(null);
      continue;
    }
    files.push(payload.toString('utf8', at, at + bytes));
    at += bytes;
  }
  return files;
}

export interface ExecEnd {
  readonly exitCode: number;
  readonly signal: number | null;
  readonly timedOut: boolean;
  readonly truncated: boolean;
  readonly cancelled: boolean;
  readonly outputBytes: number;
  readonly durationMs: number;
}

export function decodeEnd(payload: Buffer): ExecEnd {
  const status = payload.readUInt32LE(0);
  const flags = payload.readUInt32LE(4);
  const signal = status & 0x7f;
  return {
    exitCode: signal === 0 ? (status >> 8) & 0xff : 128 + signal,
    signal: signal === 0 ? null : signal,
    timedOut: (flags & FLAGS.timedOut) !== 0,
    truncated: (flags & FLAGS.truncated) !== 0,
    cancelled: (flags & FLAGS.cancelled) !== 0,
    outputBytes: Number(payload.readBigUInt64LE(8)),
    durationMs: Number(payload.readBigUInt64LE(16)) / 1000,
  };
}

export function decodeFailure(payload: Buffer): { code: string; message: string } {
  const [code = '', message = ''] = payload.toString('utf8').split('\0');
  return { code, message };
}

export function decodeList(payload: Buffer): { id: string; running: boolean; kept: boolean }[] {
  return payload
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry.length > 0)
    .map((entry) => {
      const [state = ''] = entry;
      return { id: entry.slice(1), running: '+*'.includes(state), kept: '*='.includes(state) };
    });
}

/** Cuts a byte stream into frames. Throws RangeError on a length that no init would send. */
export function frameDecoder(onFrame: (frame: Frame) => void): (bytes: Buffer) => void {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let neededBytes = HEAD_BYTES;
  return (bytes) => {
    rest.push(bytes);
    restBytes += bytes.length;
    // Joined only when a whole frame is there: a large one in many pieces is copied once.
    if (restBytes < neededBytes) return;
    const all = rest.length === 1 ? bytes : Buffer.concat(rest);
    let at = 0;
    neededBytes = HEAD_BYTES;
    while (all.length - at >= HEAD_BYTES) {
      const payloadBytes = all.readUInt32LE(at + 5);
      if (payloadBytes > FRAME_PAYLOAD_BYTES_MAX) throw new RangeError(`a frame of ${payloadBytes} bytes`);
      const end = at + HEAD_BYTES + payloadBytes;
      if (end > all.length) {
        neededBytes = HEAD_BYTES + payloadBytes;
        break;
      }
      const type = String.fromCharCode(all[at] ?? 0);
      onFrame({ type, channel: all.readUInt32LE(at + 1), payload: all.subarray(at + HEAD_BYTES, end) });
      at = end;
    }
    rest = at === all.length ? [] : [all.subarray(at)];
    restBytes = all.length - at;
  };
}

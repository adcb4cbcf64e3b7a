// Frames between the agent and a computer's init; ../../init/protocol.h describes them.
import type { ExecOptions, ExecResult, KnownExec } from './exec.ts';

export const PROTOCOL_VERSION = 4;
export const EXEC_ID_BYTES_MAX = 64;
export const FRAME_PAYLOAD_BYTES_MAX = 8 * 1024 * 1024;
const HEAD_BYTES = 9;

export type RequestType = 'E' | 'A' | 'W' | 'K' | 'R' | 'L' | 'M' | 'T' | 's' | 'd' | 'g' | 'w' | 'z' | 'c';

export interface Frame {
  readonly type: string;
  readonly channel: number;
  /** Valid only until the callback returns: it is a view of the socket's buffer. */
  readonly payload: Buffer;
}

const START_FLAGS = { hasStdin: 1, streamed: 2, kept: 4 } as const;
const FLAGS = { timedOut: 1, truncated: 2, cancelled: 4 } as const;
const UNREADABLE = 0xffff_ffff;
/** Of a wait status. */
const SIGNAL_BITS = 0x7f;

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

/** No string may contain a zero byte. */
export function encodeStart(start: ExecOptions): Buffer {
  const env = environmentOf(start.env ?? {});
  const numbers = Buffer.alloc(16);
  numbers.writeUInt32LE(start.timeoutMs, 0);
  numbers.writeUInt32LE(start.outputBytesMax, 4);
  numbers.writeUInt32LE(env.length, 8);
  const flags =
    (start.stdin ? START_FLAGS.hasStdin : 0) |
    (start.consume ? START_FLAGS.streamed : 0) |
    (start.keep ? START_FLAGS.kept : 0);
  numbers.writeUInt32LE(flags, 12);
  const strings = encodeStrings([start.id, start.command, start.cwd ?? '', ...env]);
  return Buffer.concat([numbers, strings, start.stdin ?? Buffer.alloc(0)]);
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export type StreamRequest =
  | { readonly kind: 'port'; readonly port: number }
  | (TerminalSize & { readonly kind: 'terminal' });

/** Understood by every current terminal emulator. */
const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color', COLORTERM: 'truecolor' } as const;
const STREAM_KINDS = { port: 1, terminal: 2 } as const;

/** @param creditBytes bytes that the init may send before the first grant */
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
  return Buffer.concat([numbers, encodeStrings(environmentOf(TERMINAL_ENVIRONMENT))]);
}

function environmentOf(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

/** Strings that each end in a zero byte. */
export function encodeStrings(strings: readonly string[]): Buffer {
  return Buffer.from(strings.map((text) => `${text}\0`).join(''));
}

export function encodeUint32(value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32LE(value);
  return payload;
}

/** File contents in the order of their paths; null for a file that cannot be read. */
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

export function decodeEnd(payload: Buffer): Omit<ExecResult, 'output'> {
  const status = payload.readUInt32LE(0);
  const flags = payload.readUInt32LE(4);
  return {
    exitCode: exitCodeOf(status),
    timedOut: (flags & FLAGS.timedOut) !== 0,
    truncated: (flags & FLAGS.truncated) !== 0,
    cancelled: (flags & FLAGS.cancelled) !== 0,
    outputBytes: Number(payload.readBigUInt64LE(8)),
    durationMs: Number(payload.readBigUInt64LE(16)) / 1000,
  };
}

/** Exit code as a shell shows it: the code, or 128 + signal number. @param status as waitpid gives it */
export function exitCodeOf(status: number): number {
  const signal = status & SIGNAL_BITS;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
}

export function decodeFailure(payload: Buffer): { code: string; message: string } {
  const [code = '', message = ''] = payload.toString('utf8').split('\0');
  return { code, message };
}

export function decodeList(payload: Buffer): KnownExec[] {
  return payload
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry.length > 0)
    .map((entry) => {
      const [state = ''] = entry;
      return { id: entry.slice(1), running: '+*'.includes(state), kept: '*='.includes(state) };
    });
}

/** Cuts a byte stream into frames. @throws RangeError for a length that no init sends */
export function frameDecoder(onFrame: (frame: Frame) => void): (bytes: Buffer) => void {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let neededBytes = HEAD_BYTES;
  return (bytes) => {
    rest.push(bytes);
    restBytes += bytes.length;
    // Join only when a whole frame is present, so that a large frame is copied once.
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

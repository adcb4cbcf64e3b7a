// One frame of a call, in a message's payload: [kind u8][seq u32 LE][meta length u32 LE][meta: JSON][data].
// It lives in the payload, not in NATS headers: no client input can forge a header (CR, LF), and it is cheaper. See
// docs/decisions/2026-11-21-frames-in-the-payload.md.
import { fromWireError, ServiceError, wireError } from '@switchyard/contracts';

export const FRAME = {
  /** Caller -> service, on the operation's subject: opens the call. */
  open: 1,
  /** Service -> caller: the reply's head. */
  head: 2,
  /** Either way: bytes of a body. */
  data: 3,
  /** Either way: the last bytes of a body, and the data known only at the end. */
  end: 4,
  /** Service -> caller: head and end in one frame, for short answers. */
  whole: 5,
  /** Service -> caller: the call failed; meta is a wire error. */
  error: 6,
  /** Service -> caller: the service has the call; carries the address for further frames. */
  accept: 7,
  /** Either way: this many bytes were consumed, so this many more may be sent. */
  grant: 8,
  /** Caller -> service: the answer is not needed. */
  cancel: 9,
  /** Caller -> service: the answer's event has no PubAck; publish it again. */
  again: 10,
} as const;

type FrameKind = (typeof FRAME)[keyof typeof FRAME];

/** Meta of `open`. */
export interface OpenMeta {
  /** The calling instance. */
  from: string;
  /** Number of the caller's connection. */
  link: number;
  /** Bytes of the answer that the caller accepts before its first grant. */
  credit: number;
  /** True when the body follows in its own frames. */
  more: boolean;
  head: unknown;
}

const HEADER_BYTES = 9;
const NOTHING = new Uint8Array(0);

export interface Frame {
  kind: number;
  /** Counts the frames of one direction of one call from 0, so that a lost frame is noticed. */
  seq: number;
  /** JSON, or empty. */
  meta: string;
  data: Buffer;
}

export function encodeFrame(kind: FrameKind, seq: number, meta = '', data: Uint8Array = NOTHING): Buffer {
  const metaBytes = Buffer.byteLength(meta);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + metaBytes + data.length);
  frame[0] = kind;
  frame.writeUInt32LE(seq, 1);
  frame.writeUInt32LE(metaBytes, 5);
  if (metaBytes > 0) frame.write(meta, HEADER_BYTES, 'utf8');
  if (data.length > 0) frame.set(data, HEADER_BYTES + metaBytes);
  return frame;
}

/** Decodes a payload; the data is a view of it. Null for a message of a foreign program. */
export function decodeFrame(payload: Uint8Array): Frame | null {
  if (payload.length < HEADER_BYTES) return null;
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  const metaEnd = HEADER_BYTES + bytes.readUInt32LE(5);
  if (metaEnd > bytes.length) return null;
  return {
    kind: bytes[0] as number,
    seq: bytes.readUInt32LE(1),
    meta: metaEnd === HEADER_BYTES ? '' : bytes.toString('utf8', HEADER_BYTES, metaEnd),
    data: bytes.subarray(metaEnd),
  };
}

/** The error in the meta of an `error` or `cancel` frame. */
export function readError(meta: string): ServiceError {
  const parsed = wireError.safeParse(JSON.parse(meta));
  return parsed.success
    ? fromWireError(parsed.data)
    : new ServiceError('internal_error', 'A service sent an unreadable error.');
}

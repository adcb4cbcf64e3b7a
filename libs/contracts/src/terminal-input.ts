// What goes into a terminal over the bus: keys, and sizes in their order among them. Each is a kind (1 byte), a length
// (u32, little-endian) and so many bytes.
import { ServiceError } from './errors.ts';

interface TerminalInputSize {
  readonly columns: number;
  readonly rows: number;
}
type TerminalInput = { readonly keys: Buffer } | { readonly size: TerminalInputSize };

const HEAD_BYTES = 5;
const KIND = { keys: 1, size: 2 } as const;
/** Longer pastes go in several pieces. */
const KEYS_BYTES_MAX = 16 * 1024;

/** The pieces to send for what was typed or pasted. */
export function* encodeTerminalKeys(bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += KEYS_BYTES_MAX)
    yield encode(KIND.keys, bytes.subarray(at, at + KEYS_BYTES_MAX));
}

export function encodeTerminalSize({ columns, rows }: TerminalInputSize): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt16LE(columns, 0);
  payload.writeUInt16LE(rows, 2);
  return encode(KIND.size, payload);
}

function encode(kind: number, payload: Uint8Array): Buffer {
  const piece = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  piece.writeUInt8(kind, 0);
  piece.writeUInt32LE(payload.length, 1);
  piece.set(payload, HEAD_BYTES);
  return piece;
}

/** Puts together what comes in chunks cut anywhere. */
export class TerminalInputDecoder {
  #rest = Buffer.alloc(0);

  /** @throws ServiceError `invalid_request` for what no edge would send. */
  *push(chunk: Uint8Array): Generator<TerminalInput> {
    const all = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (all.length - at >= HEAD_BYTES) {
      const bytes = all.readUInt32LE(at + 1);
      if (bytes > KEYS_BYTES_MAX) throw new ServiceError('invalid_request', 'Invalid terminal input.');
      if (all.length - at - HEAD_BYTES < bytes) break;
      yield decode(all.readUInt8(at), all.subarray(at + HEAD_BYTES, at + HEAD_BYTES + bytes));
      at += HEAD_BYTES + bytes;
    }
    this.#rest = all.subarray(at);
  }
}

function decode(kind: number, payload: Buffer): TerminalInput {
  if (kind === KIND.keys) return { keys: payload };
  if (kind === KIND.size && payload.length === 4)
    return { size: { columns: payload.readUInt16LE(0), rows: payload.readUInt16LE(2) } };
  throw new ServiceError('invalid_request', 'Invalid terminal input.');
}

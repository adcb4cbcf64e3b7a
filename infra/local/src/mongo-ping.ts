/**
 * `{ ping: 1, $db: 'admin' }` in MongoDB's wire protocol (OP_MSG), to check a server without a driver. An open port is
 * not enough: a container's port is open before its server is ready.
 */

const OP_MSG = 2013;
const HEADER_BYTES = 16;

export const MONGO_PING: Buffer = opMsg(
  document(
    element(0x10, 'ping', int32(1)),
    element(0x02, '$db', Buffer.concat([int32(6), cString('admin')])),
  ),
);
/** Part of the answer of a ready server. */
export const MONGO_PONG = /ok\0/;

function opMsg(body: Buffer): Buffer {
  const flags = int32(0);
  const kind = Buffer.from([0]);
  const length = HEADER_BYTES + flags.length + kind.length + body.length;
  const header = Buffer.concat([int32(length), int32(1), int32(0), int32(OP_MSG)]);
  return Buffer.concat([header, flags, kind, body]);
}

function document(...elements: Buffer[]): Buffer {
  const content = Buffer.concat([...elements, Buffer.from([0])]);
  return Buffer.concat([int32(content.length + 4), content]);
}

function element(type: number, name: string, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type]), cString(name), value]);
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

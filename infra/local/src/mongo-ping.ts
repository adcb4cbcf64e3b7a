// Checks a MongoDB without a driver. An open port is not enough: a container's port is open before its server is ready.

/** `{ ping: 1, $db: 'admin' }` as MongoDB's OP_MSG (2013): 16 bytes of header, 4 of flags, 1 of kind, then BSON. */
export const MONGO_PING: Buffer = Buffer.from(
  '330000000100000000000000dd070000' + // length 51, request 1, answers none, opcode 2013
    '0000000000' + // flags 0, kind 0
    '1e0000001070696e670001000000' + // length 30, int32 "ping" 1
    '02246462000600000061646d696e0000', // string "$db" "admin", end
  'hex',
);
/** Part of the answer of a ready server. */
export const MONGO_PONG = /ok\0/;

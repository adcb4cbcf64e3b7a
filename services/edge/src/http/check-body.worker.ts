// The thread of `BodyChecker`: parses and checks large bodies one at a time, and returns their memory.
import { parentPort } from 'node:worker_threads';
import { toWireError, type WireError } from '@switchyard/contracts';
import type { CheckedBodyName } from './checked-bodies.ts';
import { checkBody } from './read-body.ts';

export interface BodyCheck {
  readonly id: number;
  readonly name: CheckedBodyName;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface CheckedReply {
  readonly id: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly value?: unknown;
  readonly error?: WireError;
}

const port = parentPort;
port?.on('message', ({ id, name, bytes }: BodyCheck) => {
  const reply: CheckedReply = { id, bytes, ...outcomeOf(name, bytes) };
  port.postMessage(reply, [bytes.buffer]);
});

function outcomeOf(name: CheckedBodyName, bytes: Uint8Array<ArrayBuffer>) {
  try {
    return { value: checkBody(name, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) };
  } catch (error) {
    return { error: toWireError(error) };
  }
}

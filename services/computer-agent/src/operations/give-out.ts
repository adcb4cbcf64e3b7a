// Passes the bytes of a connection to the caller, at the caller's pace.
import type { Readable } from 'node:stream';
import type { IncomingCall } from '@switchyard/bus';

/** Written first, to send the answer's head: the connection is open. */
export const OPENED = Buffer.alloc(0);

/** Resolves at the connection's end. @throws the error that broke it */
export async function giveOut(connection: Readable, call: IncomingCall): Promise<void> {
  for await (const chunk of connection) if (!call.write(chunk)) await call.drained();
}

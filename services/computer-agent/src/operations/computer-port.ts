// A connection to a port of a running computer: the call's body goes to the server there, the answer's body comes from it.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { CallHandler } from '@switchyard/bus';
import { hostPortHead } from '@switchyard/contracts';
import type { Computers } from '../lifecycle/computers.ts';
import { giveOut, OPENED } from './give-out.ts';

export function connectToPort({ computers }: { computers: Computers }): CallHandler {
  return async (call) => {
    const { org, id, port } = hostPortHead.parse(call.head);
    const computer = await computers.find(org, id);
    await computer.connect(
      (running) => running.openPort(port, call.signal),
      async (connection) => {
        call.write(OPENED);
        // How the caller's half ends shows in the other one: it is broken off, or the server answers to the end of it.
        pipeline(Readable.from(call.body(), { objectMode: false }), connection).catch(() => {});
        await giveOut(connection, call);
      },
    );
    call.end(null); // a server that has ended its half is not sent anything more
  };
}

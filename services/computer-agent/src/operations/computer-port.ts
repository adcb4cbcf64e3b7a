// Connects to a port of a running computer: the call's body goes to the server, the server's bytes are the answer's
// body.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { CallHandler } from '@switchyard/bus';
import { hostPortHead } from '@switchyard/contracts';
import { connect } from '../lifecycle/use-run.ts';
import { giveOut, OPENED } from './give-out.ts';
import type { OperationDeps } from './requests.ts';

export function connectToPort({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, port } = hostPortHead.parse(call.head);
    const computer = await computers.find(org, id);
    await connect(
      computer,
      (container) => container.openPort(port, call.signal),
      async (connection) => {
        call.write(OPENED);
        // Errors of this direction also end the other one, which reports them.
        pipeline(Readable.from(call.body(), { objectMode: false }), connection).catch(() => {});
        await giveOut(connection, call);
      },
    );
    call.end(null); // nothing more is sent to a server that has closed its side
  };
}

// The streams that connect to a running computer: to a port, or to a login shell.
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { CallHandler, IncomingCall } from '@switchyard/bus';
import { type HostTerminalEnd, hostPortHead, hostTerminalHead, terminalInput } from '@switchyard/contracts';
import { linesOf } from '@switchyard/service';
import type { InitStream } from '../computer/init-stream.ts';
import { connect } from '../lifecycle/use-run.ts';
import type { OperationDeps } from './requests.ts';

/** Written first, to send the answer's head: the connection is open. */
const OPENED = Buffer.alloc(0);

/** Connects to a port: the call's body goes to the server, the server's bytes are the answer's body. */
export function connectToPort({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, port } = hostPortHead.parse(call.head);
    const computer = await computers.find(org, id);
    await connect(
      computer,
      (init) => init.openStream({ kind: 'port', port }, call.signal),
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

/**
 * Opens a login shell. The call's body has input and window sizes, the answer's body has output and then the exit code.
 * When the caller disconnects, the shell and everything started in it end.
 */
export function openTerminal({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, cols, rows } = hostTerminalHead.parse(call.head);
    const computer = await computers.find(org, id);
    let end: HostTerminalEnd | null = null;
    await connect(
      computer,
      (init) => init.openStream({ kind: 'terminal', columns: cols, rows }, call.signal),
      async (terminal) => {
        call.write(OPENED);
        takeIn(call.body(), terminal).catch((error: unknown) => void terminal.destroy(error as Error));
        await giveOut(terminal, call);
        end = { exit_code: await terminal.exitCode };
      },
    );
    call.end(end);
  };
}

async function takeIn(input: AsyncIterable<Buffer>, terminal: InitStream): Promise<void> {
  for await (const line of linesOf(input)) {
    const piece = terminalInput.parse(JSON.parse(line));
    if ('cols' in piece) terminal.resize({ columns: piece.cols, rows: piece.rows });
    else if (!terminal.write(Buffer.from(piece.keys, 'base64'))) await roomIn(terminal);
  }
  terminal.end(); // the end of the input hangs up the terminal
}

/** Also resolves when the terminal ends, after which it accepts and discards input. */
async function roomIn(terminal: InitStream): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    if (!terminal.destroyed)
      await Promise.race([once(terminal, 'drain', { signal }), once(terminal, 'close', { signal })]);
  } finally {
    settled.abort();
  }
}

/**
 * Passes the bytes of a connection to the caller, at the caller's pace. Resolves at the connection's end.
 * @throws the error that broke it
 */
async function giveOut(connection: Readable, call: IncomingCall): Promise<void> {
  for await (const chunk of connection) if (!call.write(chunk)) await call.drained();
}

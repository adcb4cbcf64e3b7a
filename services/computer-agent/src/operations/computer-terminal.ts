// A login shell in a running computer. The call's body has input and window sizes, the answer's body has output and
// then the exit code. When the caller disconnects, the shell and everything started in it end.
import { once } from 'node:events';
import type { CallHandler } from '@switchyard/bus';
import { type HostTerminalEnd, hostTerminalHead, TerminalInputDecoder } from '@switchyard/contracts';
import type { TerminalStream } from '../computer/init-stream.ts';
import { connect } from '../lifecycle/use-run.ts';
import { giveOut, OPENED } from './give-out.ts';
import type { OperationDeps } from './requests.ts';

export function openTerminal({ computers }: OperationDeps): CallHandler {
  return async (call) => {
    const { org, id, cols, rows } = hostTerminalHead.parse(call.head);
    const computer = await computers.find(org, id);
    let end: HostTerminalEnd | null = null;
    await connect(
      computer,
      (container) => container.openTerminal({ columns: cols, rows }, call.signal),
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

async function takeIn(input: AsyncIterable<Buffer>, terminal: TerminalStream): Promise<void> {
  const decoder = new TerminalInputDecoder();
  for await (const chunk of input)
    for (const piece of decoder.push(chunk)) {
      if ('size' in piece) terminal.resize(piece.size);
      else if (!terminal.write(piece.keys)) await roomIn(terminal);
    }
  terminal.end(); // the end of the input hangs up the terminal
}

/** Also resolves when the terminal ends, after which it accepts and discards input. */
async function roomIn(terminal: TerminalStream): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    if (!terminal.destroyed)
      await Promise.race([once(terminal, 'drain', { signal }), once(terminal, 'close', { signal })]);
  } finally {
    settled.abort();
  }
}

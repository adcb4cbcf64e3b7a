// A login shell in a running computer: the call's body is what is typed and how large the screen is, the answer's body what
// is shown, its end the shell's exit code. It ends with its caller, and all that was started in it.
import { once } from 'node:events';
import type { CallHandler } from '@switchyard/bus';
import { type HostTerminalEnd, hostTerminalHead, TerminalInputDecoder } from '@switchyard/contracts';
import type { TerminalStream } from '../computer/init-stream.ts';
import type { Computers } from '../lifecycle/computers.ts';
import { giveOut, OPENED } from './give-out.ts';

export function openTerminal({ computers }: { computers: Computers }): CallHandler {
  return async (call) => {
    const { org, id, cols, rows } = hostTerminalHead.parse(call.head);
    const computer = await computers.find(org, id);
    let end: HostTerminalEnd | null = null;
    await computer.connect(
      (running) => running.openTerminal({ columns: cols, rows }, call.signal),
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
  terminal.end(); // whoever types nothing more has hung up
}

/** Resolves also where the terminal ends, after which it takes everything and does nothing. */
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

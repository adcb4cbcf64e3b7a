// `switchyard computers ssh`: this terminal, connected to a shell in a computer.
import type { Computer } from '@switchyard/client';

/** Ctrl-D: how a shell learns that its input ended. */
const END_OF_INPUT = '\x04';

/** Resolves with the exit code of the shell. */
export async function attachTerminal(computer: Computer): Promise<number> {
  const { stdin, stdout } = process;
  const size = () => ({ cols: stdout.columns || 80, rows: stdout.rows || 24 });
  await using terminal = await computer.terminal(size());
  const onInput = (bytes: Buffer<ArrayBuffer>) => terminal.write(bytes);
  const onEnd = () => terminal.write(END_OF_INPUT);
  const onResize = () => terminal.resize(size());
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on('data', onInput).on('end', onEnd);
  stdout.on('resize', onResize);
  try {
    for await (const bytes of terminal) stdout.write(bytes);
    return await terminal.exitCode;
  } finally {
    stdin.off('data', onInput).off('end', onEnd).pause();
    stdout.off('resize', onResize);
    if (stdin.isTTY) stdin.setRawMode(false);
  }
}

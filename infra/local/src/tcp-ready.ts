/** Waits until a server listens, for servers that do not say so themselves. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const RETRY_EVERY_MS = 25;
const ATTEMPT_TIMEOUT_MS = 1_000;
const GREETING_BYTES_MAX = 64 * 1024;

/**
 * Resolves when a connection to the port succeeds and, where `greeting` is given, the server's first words match
 * it. Tries until then, or until the signal is aborted (then it rejects).
 */
export async function listens(
  address: { readonly host: string; readonly port: number },
  signal: AbortSignal,
  greeting?: RegExp,
): Promise<void> {
  while (!(await answers(address, greeting))) {
    signal.throwIfAborted();
    // Nothing tells that a port is being listened to: asking again is the only way.
    await delay(RETRY_EVERY_MS, undefined, { signal });
  }
}

function answers(address: { host: string; port: number }, greeting: RegExp | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    let words = '';
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(ATTEMPT_TIMEOUT_MS, () => end(false));
    socket.once('error', () => end(false));
    socket.once('end', () => end(false));
    socket.once('connect', () => greeting === undefined && end(true));
    socket.setEncoding('utf8').on('data', (text: string) => {
      words += text;
      if (greeting?.test(words)) end(true);
      else if (words.length > GREETING_BYTES_MAX) end(false);
    });
  });
}

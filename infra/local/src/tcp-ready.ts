/** Waits until a server answers, for servers that do not tell us themselves. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Question {
  readonly host: string;
  readonly port: number;
  /** Sent first, where the server does not speak first. */
  readonly say?: Buffer;
  /** What the answer has to match; bytes are seen as latin-1. */
  readonly expect: RegExp;
}

const RETRY_EVERY_MS = 25;
const ATTEMPT_TIMEOUT_MS = 1_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** Resolves when the server gives the answer. Tries until then, or until the signal is aborted (then it rejects). */
export async function answers(question: Question, signal: AbortSignal): Promise<void> {
  while (!(await answersNow(question))) {
    signal.throwIfAborted();
    // Nothing tells that a server has come up: asking again is the only way.
    await delay(RETRY_EVERY_MS, undefined, { signal });
  }
}

function answersNow({ host, port, say, expect }: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    let answer = '';
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(ATTEMPT_TIMEOUT_MS, () => end(false));
    socket.once('error', () => end(false));
    socket.once('end', () => end(false));
    socket.once('connect', () => say && socket.write(say));
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text;
      if (expect.test(answer)) end(true);
      else if (answer.length > ANSWER_BYTES_MAX) end(false);
    });
  });
}

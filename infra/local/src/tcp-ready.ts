/** Waits until a server answers, for servers that send no ready message. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Question {
  readonly host: string;
  readonly port: number;
  /** Sent first, if the server does not speak first. */
  readonly say?: Buffer;
  /** The pattern of the answer; bytes are decoded as latin-1. */
  readonly expect: RegExp;
}

const RETRY_EVERY_MS = 25;
const ATTEMPT_TIMEOUT_MS = 1_000;
const ANSWER_BYTES_MAX = 64 * 1024;

/** Resolves when the server gives the answer. Rejects when the signal is aborted. */
export async function answers(question: Question, signal: AbortSignal): Promise<void> {
  while (!(await answersNow(question))) {
    signal.throwIfAborted();
    // A server does not announce that it listens, so this polls.
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

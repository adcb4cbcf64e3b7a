// Every message that a stream of NATS holds, as it is stored.
import type { Bus } from '@switchyard/bus';

/** Subjects, headers and bytes of all messages of a stream, in one text. */
export async function rawMessages({ jsm }: Bus, stream: string): Promise<string> {
  const { state } = await jsm.streams.info(stream);
  let text = '';
  for (let seq = Math.max(state.first_seq, 1); seq <= state.last_seq; seq += 1) {
    const message = await jsm.streams.getMessage(stream, { seq });
    if (message) text += `${message.subject}\n${String(message.header)}\n${latin1(message.data)}\n`;
  }
  return text;
}

/** One character for each byte, so that nothing is lost. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

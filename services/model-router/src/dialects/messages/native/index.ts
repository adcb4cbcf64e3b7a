// The Messages API of Anthropic itself.
import type { MessagesRequest } from '@switchyard/contracts';
import type { NativeDialect } from '../../native-dialect.ts';
import { isOurs, OURS } from '../thoughts.ts';
import { finishMessage } from './answer.ts';
import { PassedStream } from './stream.ts';

export const nativeMessages: NativeDialect = {
  body: withoutOthersThoughts,
  finish: finishMessage,
  stream: (model, request) => new PassedStream(model, request),
};

/** Anthropic refuses thoughts of another maker, which an earlier answer of this conversation may have. */
function withoutOthersThoughts(given: Buffer): Buffer {
  if (!given.includes(OURS)) return given;
  const request = JSON.parse(given.toString('utf8')) as MessagesRequest;
  const messages = request.messages.map((message) => {
    if (message.role !== 'assistant' || typeof message.content === 'string') return message;
    const content = message.content.filter(
      (block) =>
        !(block.type === 'thinking' && isOurs(block.signature)) &&
        !(block.type === 'redacted_thinking' && isOurs(block.data)),
    );
    return { ...message, content };
  });
  return Buffer.from(JSON.stringify({ ...request, messages }));
}

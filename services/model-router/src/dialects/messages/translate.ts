// Anthropic's Messages API to and from chat.
import type { MessagesRequest } from '@switchyard/contracts';
import type { Translate } from '../dialect.ts';
import { type AnswerFrame, toMessage } from './answer.ts';
import { showsThinking, toChatRequest, toHints } from './chat-request.ts';
import { MessageStream } from './stream.ts';

export const translateMessages: Translate = (body, { requestId }) => {
  const request = body as MessagesRequest;
  const frame: AnswerFrame = {
    id: `msg_${requestId.replace(/^req_/, '')}`,
    showsThinking: showsThinking(request),
    stopSequences: request.stop_sequences ?? [],
  };
  return {
    chat: toChatRequest(request),
    hints: toHints(request),
    answer: (completion) => toMessage(completion, frame),
    stream: () => new MessageStream(frame),
  };
};

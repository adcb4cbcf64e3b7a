// local/chat: a small rule-based chat. No language model is behind it: it follows the rules of ./rules, calls tools
// whose words fit the message, and fills JSON schemas from the text.
import { eventStreamAnswer, jsonAnswer, type LocalAnswer } from '../local-answer.ts';
import type { LocalRequest } from '../local-request.ts';
import { Turns } from '../turns.ts';
import { chatCompletion, chatCompletionChunks, finishReply } from './chat-completion.ts';
import { readChatRequest } from './chat-request.ts';
import { composeReply } from './compose-reply.ts';
import type { SchemaWorker } from './schema/schema-worker.ts';

export interface LocalChatRequest extends LocalRequest {
  schemas: SchemaWorker;
}

export async function answerChat({
  body,
  stream,
  signal,
  now,
  schemas,
}: LocalChatRequest): Promise<LocalAnswer> {
  const startedAt = now();
  const request = readChatRequest(body);
  const fill = schemas.forCall(signal);
  const reply = finishReply(
    await composeReply(request, new Date(startedAt), fill, new Turns(signal)),
    request,
  );
  const created = Math.floor(startedAt / 1000);
  return stream
    ? eventStreamAnswer(chatCompletionChunks(reply, request, created), signal)
    : jsonAnswer(chatCompletion(reply, request, created));
}

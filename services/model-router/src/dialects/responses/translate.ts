// OpenAI's Responses, stateless: nothing is stored, so the caller sends the whole conversation each time.
import type { ResponsesRequest } from '@switchyard/contracts';
import type { ChatCompletion } from '../chat-shapes.ts';
import type { DialectCall, Translate } from '../dialect.ts';
import { refusalOfOpenAiOnly } from './openai-only.ts';
import { toOutput } from './output-items.ts';
import { toChatRequest } from './request.ts';
import { endOf, idSuffix, responseObject, toResponsesUsage } from './response-object.ts';
import { ResponseStream } from './response-stream.ts';
import { toolNames } from './tools.ts';

export const translateResponse: Translate = (body, call) => {
  const request = body as ResponsesRequest;
  return {
    chat: toChatRequest(request),
    nativeOnly: refusalOfOpenAiOnly(request),
    answer: (completion) => toResponse(request, call, completion),
    stream: () => new ResponseStream(request, call),
  };
};

function toResponse(request: ResponsesRequest, call: DialectCall, completion: ChatCompletion): object {
  const [choice] = completion.choices;
  const end = endOf(choice?.finish_reason ?? null);
  const status = end.status === 'completed' ? 'completed' : 'incomplete';
  const names = toolNames(request.tools);
  return responseObject(request, call, {
    ...end,
    model: completion.model,
    output: toOutput(choice?.message ?? {}, { suffix: idSuffix(call), status, names }),
    usage: toResponsesUsage(completion.usage),
  });
}

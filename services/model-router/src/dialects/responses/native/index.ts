// The Responses API of OpenAI itself.
import type { NativeDialect } from '../../native-dialect.ts';
import { PassedStream } from '../../passed-stream.ts';
import { finishResponse } from './answer.ts';
import { isResponsesOnly, toUpstreamRequest } from './request.ts';
import { ResponseEvents } from './stream.ts';

export const nativeResponses: NativeDialect = {
  lengths: ['max_output_tokens'],
  outputTokensMin: 16,
  serves: isResponsesOnly,
  headers: () => ({}),
  body: toUpstreamRequest,
  finish: finishResponse,
  stream: (model, request, inputTokens) =>
    new PassedStream(model, request, new ResponseEvents(model, inputTokens)),
};

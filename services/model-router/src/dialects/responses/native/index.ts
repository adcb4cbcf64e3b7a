// The Responses API of OpenAI itself.
import type { NativeDialect } from '../../native-dialect.ts';
import { finishResponse } from './answer.ts';
import { isResponsesOnly, toUpstreamRequest } from './request.ts';
import { OpenAiStream } from './stream.ts';

export const nativeResponses: NativeDialect = {
  lengths: ['max_output_tokens'],
  outputTokensMin: 16,
  serves: isResponsesOnly,
  headers: () => ({}),
  body: toUpstreamRequest,
  finish: finishResponse,
  stream: (model, request, inputTokens) => new OpenAiStream(model, inputTokens, request.length),
};

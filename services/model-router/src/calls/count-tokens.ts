// Counts the input tokens of a Messages request: the estimate that a hold uses. No upstream is asked, and nothing charged.
import type { IncomingCall } from '@switchyard/bus';
import { type CountTokensRequest, modelCallHead, type tokenCount } from '@switchyard/contracts';
import type { z } from 'zod';
import { toChatRequest } from '../dialects/messages/chat-request.ts';
import { inputTokensOf } from '../spending/request-price.ts';
import type { ModelCallDeps } from './call-context.ts';
import { receiveBody } from './receive-body.ts';

/** Serves `COUNT_TOKENS_SUBJECT`. @throws ServiceError `model_not_found`, `wrong_endpoint`, and those of `receiveBody` */
export async function countTokens(
  { catalog, largeBodies }: Pick<ModelCallDeps, 'catalog' | 'largeBodies'>,
  call: IncomingCall,
): Promise<void> {
  const head = modelCallHead.parse(call.head);
  catalog.resolve(head.models, 'language');
  const body = await receiveBody(call, head, largeBodies);
  try {
    const request = JSON.parse(body.bytes.toString('utf8')) as CountTokensRequest;
    const count = { input_tokens: inputTokensOf('language', toChatRequest(request)) };
    call.end(null, Buffer.from(JSON.stringify(count satisfies z.infer<typeof tokenCount>)));
  } finally {
    body.memory?.release();
  }
}

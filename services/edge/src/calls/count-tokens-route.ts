// POST /v1/messages/count_tokens: Anthropic's count of input tokens. It is free and calls no upstream.
import { requestWhole } from '@switchyard/bus';
import {
  COUNT_TOKENS_SUBJECT,
  countTokensRequest,
  MODEL_BODY_BYTES_MAX,
  type ModelCallHead,
  requestIdHeaders,
  tokenCount,
} from '@switchyard/contracts';
import { clientGone } from '../http/request-over.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { beginModelCall } from './begin-model-call.ts';
import type { CallRelay } from './relay-call.ts';

const DIALECT = 'messages';

export function countTokensRoute(relay: CallRelay): Route {
  return rawRoute(
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      operationId: 'countMessageTokens',
      permission: 'models:write',
      dialect: DIALECT,
      tag: 'Models',
      summary: 'Estimate the input tokens of a message (Anthropic’s shape)',
      description: 'Free. The estimate is the one that a spending limit holds money for.',
      bodyBytesMax: MODEL_BODY_BYTES_MAX,
      request: { body: countTokensRequest },
      response: { status: 200, description: 'The number of tokens', body: tokenCount },
      errors: ['wrong_endpoint', 'model_not_allowed', 'model_not_found'],
    },
    async (request, reply, key) => {
      request.subject = { type: 'language', model: null, computer: null };
      const asked = await relay.bodies.check('count_tokens', request);
      const body = request.body as Buffer;
      const head: ModelCallHead = {
        ...(await beginModelCall(relay, key, request, asked, body.length)),
        ...{ dialect: DIALECT, stream: false, include_usage: false },
      };
      const signal = clientGone(request, reply);
      const count = await requestWhole(relay.bus, { subject: COUNT_TOKENS_SUBJECT, head, body }, { signal });
      request.heldBody?.release();
      return reply
        .headers({
          'content-type': 'application/json; charset=utf-8',
          ...requestIdHeaders(request.id, DIALECT),
        })
        .send(count);
    },
  );
}

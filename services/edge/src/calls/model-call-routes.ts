// The model endpoints: validate the request, open the call on the bus, and pass the bytes of its answer to the client.
import {
  chatCompletion,
  chatCompletionChunk,
  DIALECTS,
  type Dialect,
  decisionsResult,
  embeddingsResult,
  imagesResult,
  type KeyRecord,
  MODEL_BODY_BYTES_MAX,
  MODEL_TYPES,
  type ModelCallHead,
  type ModelType,
  messagesAnswer,
  messagesEvent,
  modelCallSubject,
  rerankResult,
  responsesEvent,
  responsesResult,
  textCompletion,
  textCompletionChunk,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { CHECKED_BODIES, type CheckedBodyName } from '../http/checked-bodies.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { takeTokens } from '../rate-limits/limit-hooks.ts';
import { type AskedModels, beginModelCall } from './begin-model-call.ts';
import { countTokensRoute } from './count-tokens-route.ts';
import { handOver } from './hand-over.ts';
import { type CallRelay, relayCall } from './relay-call.ts';

export const MODEL_ERRORS = [
  'wrong_endpoint',
  'model_not_allowed',
  'upstream_rejected',
  'model_not_found',
  'rate_limited',
  'upstream_error',
  'model_unavailable',
  'upstream_timeout',
] as const;

interface ModelEndpoint {
  type: ModelType;
  body: CheckedBodyName;
  dialect?: Dialect;
  path: string;
  operationId: string;
  summary: string;
  /** The answer: JSON of this shape, or audio. */
  result: z.ZodType | 'audio';
  streams: boolean;
  streamDescription?: string;
  /** Shape of each event of a stream. */
  streamEvent?: z.ZodType;
}

interface ModelBody extends AskedModels {
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
  max_tokens?: number | null | undefined;
  max_completion_tokens?: number | null | undefined;
  max_output_tokens?: number | null | undefined;
}

const ENDPOINTS: ModelEndpoint[] = [
  languageEndpoint('chat', {
    operationId: 'createChatCompletion',
    summary: 'Chat with a language model (OpenAI’s shape; streams with `stream: true`)',
    result: chatCompletion,
    streamEvent: chatCompletionChunk,
  }),
  languageEndpoint('responses', {
    operationId: 'createResponse',
    summary:
      'Ask a language model for a response (OpenAI’s Responses, stateless; streams with `stream: true`)',
    result: responsesResult,
    streamEvent: responsesEvent,
    streamDescription:
      'With `stream: true`: OpenAI’s typed events, numbered; the last one carries `response.usage.cost`',
  }),
  languageEndpoint('completions', {
    operationId: 'createCompletion',
    summary: 'Complete a text with a language model (OpenAI’s legacy shape; streams with `stream: true`)',
    result: textCompletion,
    streamEvent: textCompletionChunk,
  }),
  languageEndpoint('messages', {
    operationId: 'createMessage',
    summary: 'Send a message to a language model (Anthropic’s shape; streams with `stream: true`)',
    result: messagesAnswer,
    streamEvent: messagesEvent,
  }),
  {
    ...sameBody('embedding'),
    path: '/v1/embeddings',
    operationId: 'createEmbedding',
    summary: 'Turn texts into vectors (OpenAI’s shape)',
    result: embeddingsResult,
    streams: false,
  },
  {
    ...sameBody('image'),
    path: '/v1/images/generations',
    operationId: 'createImage',
    summary: 'Draw images (OpenAI’s shape, base64 only); each image is charged',
    result: imagesResult,
    streams: false,
  },
  {
    ...sameBody('speech'),
    path: '/v1/audio/speech',
    operationId: 'createSpeech',
    summary: 'Speak a text; the sound streams as it comes, its cost is in X-Service-Cost',
    result: 'audio',
    streams: false,
  },
  {
    ...sameBody('decision'),
    path: '/v1/decisions',
    operationId: 'createDecision',
    summary: 'Answer questions about a situation, each with a probability',
    result: decisionsResult,
    streams: false,
  },
  ...[
    { path: '/v1/rerank', operationId: 'rerank' },
    { path: '/v2/rerank', operationId: 'rerankV2' },
  ].map((version) => ({
    ...sameBody('rerank'),
    ...version,
    summary: 'Order documents by their relevance to a query, best first (Cohere’s and Jina’s shape)',
    result: rerankResult,
    streams: false,
  })),
];

function languageEndpoint(
  dialect: Dialect & CheckedBodyName,
  described: Pick<ModelEndpoint, 'operationId' | 'summary' | 'result' | 'streamDescription' | 'streamEvent'>,
): ModelEndpoint {
  const { path } = DIALECTS[dialect];
  return { type: 'language', body: dialect, dialect, path, streams: true, ...described };
}

function sameBody<T extends ModelType & CheckedBodyName>(type: T): { type: T; body: T } {
  return { type, body: type };
}

export function modelCallRoutes(relay: CallRelay): Route[] {
  const calls = ENDPOINTS.map((endpoint) => {
    const { type, body, dialect, path, operationId, summary, result, streams } = endpoint;
    const { streamDescription, streamEvent } = endpoint;
    return rawRoute(
      {
        method: 'POST',
        path,
        operationId,
        permission: 'models:write',
        charges: 'in_answer',
        ...(dialect ? { dialect } : {}),
        tag: 'Models',
        summary,
        description: `Charged per ${MODEL_TYPES[type].chargedPer}.`,
        bodyBytesMax: MODEL_BODY_BYTES_MAX,
        request: { body: CHECKED_BODIES[body].schema },
        response: {
          ...{ status: 200, alsoStreams: streams },
          ...(streamDescription === undefined ? {} : { streamDescription }),
          ...(streamEvent === undefined ? {} : { streamEvent }),
          ...describeResult(result),
        },
        errors: MODEL_ERRORS,
      },
      (request, reply, key) => {
        request.subject = { type, model: null, computer: null };
        startCall(relay, endpoint, request, reply, key).catch((error) => reply.send(error));
      },
    );
  });
  return [...calls, countTokensRoute(relay)];
}

async function startCall(
  relay: CallRelay,
  { type, body, dialect }: ModelEndpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  key: KeyRecord,
): Promise<void> {
  const parsed = (await relay.bodies.check(body, request)) as ModelBody;
  await takeTokens(request, reply, outputTokensAsked(parsed));
  if (parsed.stream) await request.idempotent?.beginStream();
  const { length } = request.body as Buffer;
  const common = await beginModelCall(relay, key, request, parsed, length);
  const head: ModelCallHead = {
    ...common,
    ...(dialect ? { dialect } : {}),
    ...(dialect === 'messages' ? betasOf(request) : {}),
    stream: parsed.stream === true,
    include_usage: parsed.stream_options?.include_usage === true,
  };
  relayCall(relay, { subject: modelCallSubject(type), head, body: handOver(request) }, request, reply);
}

function outputTokensAsked({ max_tokens, max_completion_tokens, max_output_tokens }: ModelBody): number {
  return Math.max(max_tokens ?? 0, max_completion_tokens ?? 0, max_output_tokens ?? 0);
}

function betasOf({ headers }: FastifyRequest): Pick<ModelCallHead, 'anthropic_beta'> {
  const betas = headers['anthropic-beta'];
  return typeof betas === 'string' ? { anthropic_beta: betas } : {};
}

function describeResult(result: ModelEndpoint['result']) {
  return result === 'audio'
    ? { description: 'The sound, its cost in the header X-Service-Cost', contentType: 'audio/*' }
    : { description: 'The answer, with its cost in `usage.cost`', body: result };
}

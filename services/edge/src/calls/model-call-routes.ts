// The model endpoints: check, open the call on the bus, and let its answer's bytes through to the client.
import {
  chatCompletion,
  chatCompletionRequest,
  decisionsRequest,
  decisionsResult,
  embeddingsRequest,
  embeddingsResult,
  imagesRequest,
  imagesResult,
  MODEL_BODY_BYTES_MAX,
  MODEL_TYPES,
  type ModelCallHead,
  type ModelType,
  modelCallSubject,
  rerankRequest,
  rerankResult,
  ServiceError,
  speechRequest,
} from '@switchyard/contracts';
import { LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import type { z } from 'zod';
import { allowedModels } from '../auth/spending.ts';
import { parseBody } from '../http/read-body.ts';
import { type Route, rawRoute } from '../http/route.ts';
import { handOver } from './hand-over.ts';
import { type CallRelay, relayCall } from './relay-call.ts';

export const MODEL_ERRORS = [
  'invalid_json',
  'invalid_request',
  'wrong_endpoint',
  'insufficient_funds',
  'budget_exceeded',
  'model_not_allowed',
  'upstream_rejected',
  'model_not_found',
  'body_too_large',
  'body_timeout',
  'unsupported_media_type',
  'rate_limited',
  'upstream_error',
  'model_unavailable',
  'service_unavailable',
  'upstream_timeout',
] as const;

interface ModelEndpoint {
  type: ModelType;
  path: string;
  summary: string;
  body: z.ZodType<ModelBody>;
  /** The answer: JSON of this shape, or sound. */
  result: z.ZodType | 'audio';
  streams: boolean;
}

interface ModelBody {
  model?: string | undefined;
  models?: string[] | undefined;
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
}

const ENDPOINTS: ModelEndpoint[] = [
  {
    type: 'language',
    path: '/v1/chat/completions',
    summary: 'Chat with a language model (OpenAI’s shape; streams with `stream: true`)',
    body: chatCompletionRequest,
    result: chatCompletion,
    streams: true,
  },
  {
    type: 'embedding',
    path: '/v1/embeddings',
    summary: 'Turn texts into vectors (OpenAI’s shape)',
    body: embeddingsRequest,
    result: embeddingsResult,
    streams: false,
  },
  {
    type: 'image',
    path: '/v1/images/generations',
    summary: 'Draw images (OpenAI’s shape, base64 only); each image is charged',
    body: imagesRequest,
    result: imagesResult,
    streams: false,
  },
  {
    type: 'speech',
    path: '/v1/audio/speech',
    summary: 'Speak a text; the sound streams as it comes, its cost is in X-Service-Cost',
    body: speechRequest,
    result: 'audio',
    streams: false,
  },
  {
    type: 'decision',
    path: '/v1/decisions',
    summary: 'Answer questions about a situation, each with a probability',
    body: decisionsRequest,
    result: decisionsResult,
    streams: false,
  },
  ...['/v1/rerank', '/v2/rerank'].map((path) => ({
    type: 'rerank' as const,
    path,
    summary: 'Order documents by their relevance to a query, best first (Cohere’s and Jina’s shape)',
    body: rerankRequest,
    result: rerankResult,
    streams: false,
  })),
];

export function modelCallRoutes(relay: CallRelay): Route[] {
  return ENDPOINTS.map(({ type, path, summary, body, result, streams }) =>
    rawRoute(
      {
        method: 'POST',
        path,
        permission: 'models:write',
        tag: 'Models',
        summary,
        description: `Charged per ${MODEL_TYPES[type].chargedPer}.`,
        bodyBytesMax: MODEL_BODY_BYTES_MAX,
        request: { body },
        response: { status: 200, alsoStreams: streams, priced: true, ...describeResult(result) },
        errors: MODEL_ERRORS,
      },
      (request, reply, key) => {
        request.subject = { type, model: null, computer: null };
        const parsed: ModelBody = parseBody(body, request.body);
        requireUsageStore(relay);
        const named = namesOf(parsed);
        request.subject.model = named[0] ?? null;
        const models = allowedModels(key, named);
        const bytes = request.body as Buffer;
        request.body = undefined; // from here on it is the relay's, which lets go of it before the answer is there
        const head: ModelCallHead = {
          request_id: request.id,
          org: key.org,
          key_id: key.id,
          models,
          stream: streams && parsed.stream === true,
          include_usage: parsed.stream_options?.include_usage === true,
          ...(relay.spending.isLimited(key) ? { limited: true } : {}),
          received_at: relay.clock.now(),
          body_bytes: bytes.length,
        };
        const held = request.heldBody;
        const handed = held && bytes.length > LARGE_BODY_BYTES_MIN ? handOver(bytes, held) : bytes;
        relayCall(relay, { subject: modelCallSubject(type), head, body: handed }, request, reply);
      },
    ),
  );
}

function describeResult(result: ModelEndpoint['result']) {
  return result === 'audio'
    ? { description: 'The sound, its cost in the header X-Service-Cost', contentType: 'audio/*' }
    : { description: 'The answer, with its cost in `usage.cost`', body: result };
}

/** @throws ServiceError `service_unavailable`: a call whose usage could not be stored is not begun. */
export function requireUsageStore({ bus }: CallRelay): void {
  if (bus.canStoreUsage) return;
  const message = 'usage cannot be stored just now, so no call is taken';
  throw new ServiceError('service_unavailable', message, { retryAfterS: 1 });
}

/** `model`, then `models` in order, each once. */
export function namesOf({ model, models = [] }: Pick<ModelBody, 'model' | 'models'>): string[] {
  return [...new Set(model === undefined ? models : [model, ...models])];
}

// One model call, from its head to its usage event: receives the request, resolves the models, and has them answer.
import type { IncomingCall } from '@switchyard/bus';
import { type CatalogModel, type ModelType, ServiceError } from '@switchyard/contracts';
import { TRANSLATIONS } from '../dialects/registry.ts';
import { type CallContext, type ModelCallDeps, openCall } from './call-context.ts';
import { Fallback } from './fallback.ts';
import { JsonRequest } from './json-request.ts';
import type { ModelRequest } from './model-request.ts';
import { receiveBody } from './receive-body.ts';
import { transcriptionRequest } from './transcription-request.ts';
import { TranslatedRequest } from './translated-request.ts';

/** Serves one call of `model-router.v1.<type>.call`. */
export async function serveModelCall(
  deps: ModelCallDeps,
  type: ModelType,
  call: IncomingCall,
): Promise<void> {
  const context = openCall(deps, type, call);
  const { head, reply } = context;
  let fallback: Fallback | null = null;
  call.onCancelled(() => {
    const attempt = fallback?.current ?? null;
    reply.cancelled(attempt?.candidate.model ?? null, attempt?.billed() ?? null);
  });
  try {
    const models = deps.catalog.resolve(head.models, type, head.markup_percent);
    const { bytes, memory } = await receiveBody(call, head, deps.largeBodies);
    try {
      const request = await requestOf(bytes, context);
      const candidates = candidatesOf(models, request, deps);
      fallback = new Fallback(request, { ...context, bodyMemory: memory?.amount ?? 0 });
      await fallback.answerFrom(candidates);
    } finally {
      memory?.release();
    }
  } catch (error) {
    if (call.isCancelled) return; // the event was published already
    reply.refuse(error, fallback?.current?.candidate.model ?? null);
  }
}

function requestOf(body: Buffer, context: CallContext): ModelRequest | Promise<ModelRequest> {
  const { type, head, call, makers } = context;
  if (type === 'transcription') return transcriptionRequest(context, body, head, call.signal);
  const translate = head.dialect && TRANSLATIONS[head.dialect];
  if (translate) return new TranslatedRequest(translate, body, head, makers);
  return new JsonRequest(type, body, head);
}

/** @throws ServiceError when the first model cannot serve the request, or no model is available */
function candidatesOf(models: CatalogModel[], request: ModelRequest, { catalog }: ModelCallDeps) {
  const [first] = models;
  const able = models.filter((model) => {
    const refusal = request.refusalOf(model);
    if (refusal !== null && model === first) throw refusal;
    return refusal === null;
  });
  const candidates = able.flatMap((model) =>
    catalog.usableUpstreams(model).map((upstream) => ({ model, upstream })),
  );
  if (candidates.length === 0 && first)
    throw new ServiceError(
      'model_unavailable',
      `${first.id} is not available: ${catalog.unavailable(first)}.`,
    );
  return candidates;
}

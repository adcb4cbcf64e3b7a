// The only place where the router maps subjects to handlers.
import type { ServiceHost } from '@switchyard/bus';
import { COUNT_TOKENS_SUBJECT, MODEL_TYPES, type ModelType, modelCallSubject } from '@switchyard/contracts';
import type { ModelCallDeps } from './calls/call-context.ts';
import { countTokens } from './calls/count-tokens.ts';
import { serveModelCall } from './calls/model-call.ts';
import { listProviders, type ProvidersListDeps } from './operations/providers-list.ts';

export function register(service: ServiceHost, deps: ModelCallDeps & ProvidersListDeps): void {
  // Videos are jobs and belong to services/video-worker.
  const types = (Object.keys(MODEL_TYPES) as ModelType[]).filter((type) => type !== 'video');
  for (const type of types)
    service.stream(modelCallSubject(type), (call) => serveModelCall(deps, type, call));
  service.stream(COUNT_TOKENS_SUBJECT, (call) => countTokens(deps, call));
  // The makers' dates are unknown: `created` is the time when this router loaded its catalog.
  const created = Math.floor(deps.clock.now() / 1000);
  service.handle('models.list', async ({ markup_percent: markup }) => ({
    data: deps.catalog.list(created, markup),
  }));
  service.handle('providers.list', listProviders(deps));
}

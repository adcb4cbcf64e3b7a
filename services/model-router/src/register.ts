// The router's only wiring list: subject -> what serves it.
import type { ServiceHost } from '@switchyard/bus';
import { MODEL_TYPES, type ModelType, modelCallSubject } from '@switchyard/contracts';
import { type ModelCallSurroundings, serveModelCall } from './calls/model-call.ts';
import { listModels } from './operations/models-list.ts';

export function register(service: ServiceHost, on: ModelCallSurroundings): void {
  // A video is a job, and services/video-worker's.
  const types = (Object.keys(MODEL_TYPES) as ModelType[]).filter((type) => type !== 'video');
  for (const type of types) service.stream(modelCallSubject(type), (call) => serveModelCall(on, type, call));
  service.handle('models.list', listModels(on.catalog, on.clock));
}

import { type Bus, request } from '@switchyard/bus';
import {
  type KeyRecord,
  modelList,
  modelObject,
  pageFrom,
  ServiceError,
  shortListQuery,
} from '@switchyard/contracts';
import { z } from 'zod';
import type { Spending } from '../auth/spending.ts';
import { jsonRoute, type Route } from '../http/route.ts';

/** Unlike other lists, this one ignores what it does not know: clients of many services ask for it. */
const modelsQuery = z.object(shortListQuery.shape);
const params = z.object({
  maker: z.string().describe('The part of its id before the slash'),
  name: z.string().describe('The part after it, which may have slashes of its own'),
});
const encodedParams = z.object({ model: z.string().describe('Its whole id, the slash as %2F') });

interface ModelRoutesDeps {
  readonly bus: Bus;
  readonly spending: Pick<Spending, 'markupOf'>;
}

export function modelRoutes({ bus, spending }: ModelRoutesDeps): Route[] {
  const list = async (key: KeyRecord) =>
    (await request(bus, 'models.list', await spending.markupOf(key))).data;
  const find = async (key: KeyRecord, id: string) => {
    const model = (await list(key)).find((one) => one.id === id);
    if (!model)
      throw new ServiceError('model_not_found', `Model not found: ${id}. GET /v1/models lists all models.`, {
        param: 'model',
      });
    return model;
  };
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/models',
        permission: 'any',
        tag: 'Models',
        summary: 'List the models of the catalog',
        request: { query: modelsQuery },
        response: { status: 200, description: 'The models', body: modelList },
      },
      async ({ key, query }) => pageFrom(await list(key), query, ({ id }) => id),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/models/{maker}/{name}',
        restParam: 'name',
        permission: 'any',
        tag: 'Models',
        summary: 'One model',
        request: { params },
        response: { status: 200, description: 'The model', body: modelObject },
        errors: ['model_not_found'],
      },
      ({ key, params: { maker, name } }) => find(key, `${maker}/${name}`),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/models/{model}',
        permission: 'any',
        tag: 'Models',
        summary: 'One model, its id with the slash encoded, as OpenAI’s clients ask for it',
        request: { params: encodedParams },
        response: { status: 200, description: 'The model', body: modelObject },
        errors: ['model_not_found'],
      },
      ({ key, params: { model } }) => find(key, model),
    ),
  ];
}

import { type Bus, request } from '@switchyard/bus';
import {
  type KeyRecord,
  type ModelObject,
  mayUse,
  modelList,
  modelObject,
  modelType,
  pageFrom,
  shortListQuery,
  unknownModel,
} from '@switchyard/contracts';
import { z } from 'zod';
import { requireModels, type Spending } from '../auth/spending.ts';
import { jsonRoute, type Route } from '../http/route.ts';

/** Characters of a maker's name, as in the ids of models. */
const MAKER_LENGTH_MAX = 64;
/** Unlike other lists, this one ignores unknown parameters: clients of many services send their own. */
const modelsQuery = z.object({
  ...shortListQuery.shape,
  type: modelType.optional().describe('Only of this type'),
  maker: z.string().min(1).max(MAKER_LENGTH_MAX).optional().describe('Only of this maker (`owned_by`)'),
  available: z.enum(['true', 'false']).optional().describe('Only those that can, or cannot, be called here'),
});
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
    const models = await list(key);
    const model = models.find((one) => one.id === id);
    if (!model) throw unknownModel(id, models);
    requireModels(key, [id]);
    return model;
  };
  return [
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/models',
        operationId: 'listModels',
        permission: 'any',
        tag: 'Models',
        summary: 'List the models of the catalog that the key may use',
        request: { query: modelsQuery },
        response: { status: 200, description: 'The models', body: modelList },
      },
      async ({ key, query }) => {
        const models = (await list(key)).filter((model) => mayUse(key, model.id) && isAsked(model, query));
        return pageFrom(models, query, ({ id }) => id);
      },
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/models/{maker}/{name}',
        operationId: 'getModel',
        restParam: 'name',
        permission: 'any',
        tag: 'Models',
        summary: 'One model',
        request: { params },
        response: { status: 200, description: 'The model', body: modelObject },
        errors: ['model_not_allowed', 'model_not_found'],
      },
      ({ key, params: { maker, name } }) => find(key, `${maker}/${name}`),
    ),
    jsonRoute(
      {
        method: 'GET',
        path: '/v1/models/{model}',
        operationId: 'getModelByEncodedId',
        permission: 'any',
        tag: 'Models',
        summary: 'One model, its id with the slash encoded, as OpenAI’s clients ask for it',
        request: { params: encodedParams },
        response: { status: 200, description: 'The model', body: modelObject },
        errors: ['model_not_allowed', 'model_not_found'],
      },
      ({ key, params: { model } }) => find(key, model),
    ),
  ];
}

function isAsked(model: ModelObject, { type, maker, available }: z.infer<typeof modelsQuery>): boolean {
  return (
    (type === undefined || model.type === type) &&
    (maker === undefined || model.owned_by === maker) &&
    (available === undefined || String(model.available) === available)
  );
}

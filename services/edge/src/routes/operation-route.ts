// Routes that are one operation of the bus: body, query and answer are those of the operation.
import { type Bus, request } from '@switchyard/bus';
import { OPERATIONS, type OperationName, type OperationRequest } from '@switchyard/contracts';
import type { z } from 'zod';
import { type JsonRoute, jsonRoute, type RouteDescription } from '../http/route.ts';

interface OperationRoute extends Omit<RouteDescription, 'tag' | 'permission' | 'request' | 'response'> {
  /** Schema of the path's parameters. */
  params?: z.ZodObject;
  /** Describes the answer. */
  answer: string;
  /** Default 200. */
  status?: number;
  /** Default: that of `request`. */
  timeoutMs?: number;
}

/** Members of an operation's request that come from the path; the others come from the key, the body and the query. */
type PathParam<N extends OperationName> = string extends keyof OperationRequest<N>
  ? never
  : Exclude<keyof OperationRequest<N>, 'org' | 'key_id' | 'body' | 'query'>;
type NeededParams<N extends OperationName> = [PathParam<N>] extends [never]
  ? object
  : { params: z.ZodObject<Record<PathParam<N>, z.ZodType>> };

/** Returns a function that declares the route of an operation; `common` applies to all of them. */
export function operationRoutes(bus: Bus, common: Pick<RouteDescription, 'tag' | 'permission'>) {
  return <N extends OperationName>(name: N, route: OperationRoute & NeededParams<N>): JsonRoute => {
    const { answer, status = 200, params, timeoutMs, ...description }: OperationRoute = route;
    const { request: schema, response } = OPERATIONS[name];
    const { body, query } = schema.shape as { body?: z.ZodType; query?: z.ZodType };
    const schemas = { ...(params && { params }), ...(body && { body }), ...(query && { query }) };
    return jsonRoute(
      {
        ...common,
        ...description,
        request: schemas as { params: z.ZodObject; body: z.ZodType; query: z.ZodType },
        response: { status, description: answer, body: response },
      },
      ({ key, params: path, body, query, requestId }) => {
        const payload = { org: key.org, key_id: key.id, ...path, body, query };
        const options = { requestId, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
        return request(bus, name, payload as unknown as OperationRequest<N>, options);
      },
    );
  };
}

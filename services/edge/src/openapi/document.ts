// The OpenAPI 3.1 document, made from the same table and the same zod schemas that serve the requests.
import { ERRORS, type ErrorCode, errorBody } from '@switchyard/contracts';
import { z } from 'zod';
import type { RouteDescription } from '../http/route.ts';

const EVERYWHERE: readonly ErrorCode[] = ['internal_error'];
const WITH_A_KEY: readonly ErrorCode[] = ['missing_api_key', 'invalid_api_key', 'expired_api_key'];

/** Describes the routes, all but those of operations and of the documents themselves. */
export function openApiDocument(routes: readonly RouteDescription[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes.filter(({ path }) => /^\/v\d\//.test(path) && path !== '/v1/openapi.json')) {
    const operations = paths[route.path] ?? {};
    operations[route.method.toLowerCase()] = operation(route);
    paths[route.path] = operations;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Switchyard',
      version: '1',
      description:
        'One HTTP API for AI models of several kinds and for rentable Linux computers, under one set of keys and one bill.',
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key of Switchyard' } },
      schemas: { Error: schemaOf(errorBody, 'output') },
    },
  };
}

function operation(route: RouteDescription): Record<string, unknown> {
  const { request, response } = route;
  const needed =
    route.permission === 'any' || route.permission === 'public' ? [] : (['permission_denied'] as const);
  const codes = [
    ...(route.permission === 'public' ? [] : WITH_A_KEY),
    ...needed,
    ...route.errors,
    ...EVERYWHERE,
  ];
  return {
    tags: [route.tag],
    operationId: operationId(route),
    summary: route.summary,
    ...(route.permission === 'public' ? { security: [] } : { description: permissionNote(route.permission) }),
    parameters: [...parametersOf(request?.params, 'path'), ...parametersOf(request?.query, 'query')],
    ...(request?.body
      ? {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(request.body, 'input') } },
          },
        }
      : {}),
    responses: { [response.status]: success(response), ...errorsByStatus(codes) },
  };
}

function success({
  description,
  body,
  contentType = 'application/json',
  alsoStreams,
}: RouteDescription['response']) {
  return {
    description,
    headers: { 'X-Request-Id': { schema: { type: 'string' }, description: 'Names the request in Logs' } },
    content: {
      [contentType]: { schema: body ? schemaOf(body, 'output') : {} },
      ...(alsoStreams
        ? {
            'text/event-stream': {
              schema: {
                type: 'string',
                description: 'With `stream: true`: chunks; the last one carries `usage.cost`',
              },
            },
          }
        : {}),
    },
  };
}

function errorsByStatus(codes: readonly ErrorCode[]): Record<string, unknown> {
  const responses: Record<string, unknown> = {};
  for (const [status, group] of Map.groupBy(new Set(codes), (code) => ERRORS[code].status))
    responses[status] = {
      description: group.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n'),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
  return responses;
}

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query'): unknown[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    properties?: Record<string, unknown>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, described]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: described,
  }));
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return json;
}

function operationId({ method, path }: RouteDescription): string {
  return `${method.toLowerCase()}_${path
    .replace(/^\/(v1\/)?/, '')
    .replaceAll(/[{}]/g, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')}`;
}

function permissionNote(permission: string): string {
  return permission === 'any' ? 'Any valid key may.' : `Needs the permission \`${permission}\`.`;
}

// The document as a running edge serves it: everything is described, and every limit of the API is in it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  examples?: unknown[];
  $ref?: string;
  [keyword: string]: unknown;
}
interface Media {
  schema?: Schema;
}
interface Answer {
  description: string;
  headers?: Record<string, { description?: string; schema?: object }>;
  content?: Record<string, Media>;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters: { name: string; in: string; description?: string; schema: Schema }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Answer>;
  security: object[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

let edge: TestEdge;
let document: Document;
/** `POST /v1/keys` -> its description. */
let operations: [string, Operation][];

beforeAll(async () => {
  edge = await startTestEdge();
  document = (await (await fetch(`${edge.url}/v1/openapi.json`)).json()) as Document;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => edge?.stop());

/** The schema that a reference names. */
function resolved(schema: Schema): Schema {
  const { $ref, ...rest } = schema;
  return $ref === undefined
    ? schema
    : { ...document.components.schemas[$ref.replace('#/components/schemas/', '')], ...rest };
}

/** Every property below a schema, with its path; those of a reference stand in the components. */
function* propertiesOf(schema: Schema, at: string): Generator<[string, Schema]> {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield [`${at}.${name}`, property];
    yield* propertiesOf(property, `${at}.${name}`);
  }
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* propertiesOf(part, at);
  if (schema.items) yield* propertiesOf(schema.items, `${at}[]`);
  if (typeof schema.additionalProperties === 'object')
    yield* propertiesOf(schema.additionalProperties, `${at}{}`);
}

function operation(name: string): Operation {
  const found = operations.find(([one]) => one === name)?.[1];
  if (!found) throw new Error(`${name} is not in the document`);
  return found;
}

const body = (name: string, type = 'application/json') =>
  resolved(operation(name).requestBody?.content[type]?.schema ?? {});

describe('the OpenAPI document', () => {
  test('names every operation once, with a summary and a description', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [name, { summary, description }] of operations) {
      expect(summary, name).toBeTruthy();
      expect(description, name).toBeTruthy();
    }
  });

  test('describes every field of every request and every parameter', () => {
    const undescribed = operations.flatMap(([name, { requestBody, parameters }]) => [
      ...parameters.filter(({ description }) => !description).map((parameter) => `${name}?${parameter.name}`),
      ...Object.values(requestBody?.content ?? {}).flatMap(({ schema = {} }) =>
        [...propertiesOf(schema, name)].filter(([, { description }]) => !description).map(([at]) => at),
      ),
    ]);
    expect(undescribed).toEqual([]);
  });

  test('shows what a caller may say about a request where the request takes it over', () => {
    const saidOf = (name: string) =>
      operation(name)
        .parameters.map((parameter) => parameter.name)
        .filter((header) => ['X-Service-Tags', 'X-Client-Request-Id', 'traceparent'].includes(header));
    expect(saidOf('POST /v1/chat/completions')).toHaveLength(3);
    expect(saidOf('POST /v1/computers')).toEqual(['X-Service-Tags']);
    expect(saidOf('POST /v1/computers/{id}/start')).toEqual([]);
  });

  test('describes every field and every header of every answer', () => {
    const undescribed = operations.flatMap(([name, { responses }]) =>
      Object.entries(responses).flatMap(([status, { headers = {}, content = {} }]) => [
        ...Object.entries(headers)
          .filter(([, header]) => !header.description || !header.schema)
          .map(([header]) => `${name} ${status} ${header}`),
        ...Object.values(content).flatMap(({ schema = {} }) =>
          [...propertiesOf(schema, `${name} ${status}`)]
            .filter(([, property]) => !property.description && !property.properties && !property.enum)
            .map(([at]) => at),
        ),
      ]),
    );
    expect(undescribed).toEqual([]);
  });

  test('describes every status of every operation, with X-Request-Id', () => {
    for (const [name, { responses }] of operations) {
      expect(Object.keys(responses).length, name).toBeGreaterThan(1);
      for (const [status, answer] of Object.entries(responses)) {
        expect(answer.description, `${name} ${status}`).toBeTruthy();
        expect(Object.keys(answer.headers ?? {}), `${name} ${status}`).toContain('X-Request-Id');
      }
    }
  });

  test('has an example of every JSON request', () => {
    const without = operations
      .filter(([, { requestBody }]) => requestBody?.content['application/json'])
      .filter(([name]) => (body(name).examples ?? []).length === 0)
      .map(([name]) => name);
    expect(without).toEqual([]);
  });

  test('describes every field of every component', () => {
    const undescribed = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      [...propertiesOf(schema, name)]
        .filter(([, property]) => !resolved(property).description && !property.properties && !property.enum)
        .filter(([, property]) => property.const === undefined)
        .map(([at]) => at),
    );
    expect(undescribed).toEqual([]);
  });

  test('has each shape of the contracts once, under its name', () => {
    const names = Object.keys(document.components.schemas);
    for (const name of [
      'Computer',
      'File',
      'Key',
      'Model',
      'ChatCompletionRequest',
      'ChatCompletionChunk',
      'ExecEvent',
    ])
      expect(names).toContain(name);
    expect(names.filter((name) => !/^[A-Z][A-Za-z0-9]+$/.test(name))).toEqual([]);
    const answer = (name: string, status = 200, type = 'application/json') =>
      operation(name).responses[status]?.content?.[type]?.schema;
    expect(answer('GET /v1/computers/{id}')).toEqual({ $ref: '#/components/schemas/Computer' });
    expect(answer('GET /v1/computers')).toEqual({ $ref: '#/components/schemas/ComputerList' });
    expect(body('POST /v1/rerank')).toEqual(body('POST /v2/rerank'));
  });

  test('has the shape of every event of a stream', () => {
    const untyped = operations.flatMap(([name, { responses }]) =>
      Object.values(responses).flatMap(({ content = {} }) => {
        const stream = content['text/event-stream']?.schema;
        return stream && !stream.$ref && !stream.allOf?.some(({ $ref }) => $ref) ? [name] : [];
      }),
    );
    expect(untyped).toEqual([]);
  });

  test('names the headers of files, and the shape of a folder', () => {
    const headersOf = (name: string) =>
      operation(name).parameters.flatMap((one) => (one.in === 'header' ? [one.name] : []));
    const read = 'GET /v1/computers/{id}/files';
    for (const name of [read, 'GET /v1/files/{id}/content'])
      expect(headersOf(name), name).toEqual(['Range', 'If-Range', 'If-None-Match']);
    expect(headersOf('PUT /v1/computers/{id}/files')).toEqual(['If-Match', 'If-None-Match']);
    expect(operation(read).responses[206]?.headers).toMatchObject({ ETag: {}, 'Content-Range': {} });
    expect(operation(read).responses[200]?.content).toMatchObject({
      'application/octet-stream': {},
      'application/json': { schema: { $ref: '#/components/schemas/WorkspaceFolder' } },
    });
  });

  test('has names that generators can use', () => {
    for (const [name, { operationId }] of operations)
      expect(operationId, name).toMatch(/^[a-z]+[A-Za-z0-9]*$/);
    expect(operation('POST /v1/chat/completions').operationId).toBe('createChatCompletion');
    expect(operation('POST /v1/computers/{id}/exec').operationId).toBe('execInComputer');
  });

  test('names each shape of a union: generators make up names that clash', () => {
    for (const [name, { oneOf = [] }] of Object.entries(document.components.schemas))
      expect(
        oneOf.filter(({ $ref }) => $ref === undefined),
        name,
      ).toEqual([]);
  });

  test('has no dangling references', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref ?? '');
    const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(new Set(refs)).toEqual(new Set(known)); // nor any that nothing refers to
  });
});

describe('a method that a path does not have', () => {
  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'];

  test('is 405, and Allow has the methods of the document', async () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const documented = Object.keys(methods).map((method) => method.toUpperCase());
      const allowed = documented.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).sort();
      for (const method of METHODS.filter((one) => !documented.includes(one))) {
        const response = await fetch(edge.url + path.replaceAll(/\{\w+\}/g, 'x'), { method });
        const { error } = (await response.json()) as { error: { code: string } };
        expect([response.status, error.code], `${method} ${path}`).toEqual([405, 'method_not_allowed']);
        expect(response.headers.get('allow')?.split(', ').sort(), `${method} ${path}`).toEqual(allowed);
      }
    }
  });
});

describe('the limits of the interface', () => {
  const CHAT = 'POST /v1/chat/completions';
  const IMAGES = 'POST /v1/images/generations';
  const SPEECH = 'POST /v1/audio/speech';
  const DECISIONS = 'POST /v1/decisions';
  const VIDEOS = 'POST /v1/videos/generations';
  const TRANSCRIPTIONS = 'POST /v1/audio/transcriptions';
  const EXEC = 'POST /v1/computers/{id}/exec';

  test.each([
    [CHAT, 'messages', { minItems: 1 }],
    [CHAT, 'models', { minItems: 1, maxItems: 16 }],
    [CHAT, 'temperature', { minimum: 0, maximum: 2 }],
    [CHAT, 'n', { minimum: 1, maximum: 128, default: 1 }],
    ['POST /v1/embeddings', 'input', { minItems: 1, maxItems: 2_048 }],
    [IMAGES, 'n', { minimum: 1, maximum: 10, default: 1 }],
    [IMAGES, 'prompt', { minLength: 1, maxLength: 32_000 }],
    [IMAGES, 'size', { pattern: '^(auto|\\d{2,5}x\\d{2,5})$' }],
    [IMAGES, 'aspect_ratio', { pattern: '^\\d{1,3}:\\d{1,3}$' }],
    [SPEECH, 'input', { minLength: 1, maxLength: 32_000 }],
    [SPEECH, 'speed', { minimum: 0.25, maximum: 4 }],
    [SPEECH, 'response_format', { enum: ['mp3', 'wav', 'opus', 'pcm'] }],
    [VIDEOS, 'duration', { minimum: 1, maximum: 60 }],
    [VIDEOS, 'resolution', { pattern: '^(480p|720p|1080p|[1-9]\\d{1,4}x[1-9]\\d{1,4})$' }],
    [VIDEOS, 'prompt', { minLength: 1, maxLength: 32_000 }],
    [TRANSCRIPTIONS, 'response_format', { enum: ['json', 'verbose_json', 'text', 'srt', 'vtt'] }],
    [TRANSCRIPTIONS, 'temperature', { minimum: 0, maximum: 1 }],
    ['POST /v1/rerank', 'documents', { minItems: 1, maxItems: 1_000 }],
    ['POST /v2/rerank', 'documents', { minItems: 1, maxItems: 1_000 }],
    [DECISIONS, 'questions', { minProperties: 1, maxProperties: 300 }],
    [EXEC, 'command', { minLength: 1, maxLength: 65_536 }],
    [EXEC, 'timeout', { minimum: 1, default: 300 }],
    ['POST /v1/computers', 'name', { minLength: 1, maxLength: 100 }],
    ['POST /v1/keys', 'name', { minLength: 1, maxLength: 100 }],
    ['POST /v1/keys', 'permissions', { minItems: 1, maxItems: 8 }],
  ])('%s: %s', (name, field, limits) => {
    const property = body(name).properties?.[field];
    const forms = [property, ...(property?.anyOf ?? [])].flatMap((form) => [form, form?.items]);
    for (const [keyword, limit] of Object.entries(limits))
      expect(
        forms.map((form) => form?.[keyword]),
        `${name} ${field} ${keyword}`,
      ).toContainEqual(limit);
  });

  test.each([
    ['GET /v1/logs', 'limit', { minimum: 1, maximum: 10_000, default: 50 }],
    ['GET /v1/usage', 'interval', { enum: ['minute', 'hour', 'day', 'month'] }],
  ])('%s?%s', (name, parameter, limits) => {
    const { schema } = operation(name).parameters.find((one) => one.name === parameter) ?? {};
    expect(resolved(schema ?? {})).toMatchObject(limits);
  });

  test('audio may have 25 MiB in either form of a transcription', () => {
    const { description, requestBody } = operation(TRANSCRIPTIONS);
    expect(description).toContain(String(25 * 1024 * 1024));
    expect(Object.keys(requestBody?.content ?? {})).toEqual(['application/json', 'multipart/form-data']);
  });

  test('a transcription may be returned as JSON, text, SRT or VTT', () => {
    expect(Object.keys(operation(TRANSCRIPTIONS).responses[200]?.content ?? {})).toEqual([
      'application/json',
      'text/plain',
      'application/x-subrip',
      'text/vtt',
    ]);
  });

  test('every POST that needs a key accepts an Idempotency-Key, except for servers in computers', () => {
    for (const [name, { parameters, security }] of operations) {
      const needsKey = security.length > 0;
      expect(
        parameters.some((parameter) => parameter.name === 'Idempotency-Key'),
        name,
      ).toBe(name.startsWith('POST ') && needsKey && !name.endsWith('/{path}'));
    }
  });

  test('required fields are marked, and one of the two fields for models is required', () => {
    expect(body(IMAGES).required).toEqual(['prompt']);
    for (const name of [
      CHAT,
      IMAGES,
      VIDEOS,
      SPEECH,
      TRANSCRIPTIONS,
      DECISIONS,
      'POST /v1/embeddings',
      'POST /v1/rerank',
    ])
      expect(body(name).anyOf, name).toEqual([{ required: ['model'] }, { required: ['models'] }]);
  });
});

describe('the errors of an operation', () => {
  const codesOf = (name: string, status: number): unknown =>
    (operation(name).responses[status]?.content?.['application/json']?.schema?.allOf ?? []).flatMap(
      (part) => part.properties?.error?.properties?.code?.enum ?? [],
    );

  test.each([
    ['POST /v1/embeddings', 400, ['wrong_endpoint', 'invalid_request', 'invalid_json', 'upstream_rejected']],
    ['POST /v1/embeddings', 404, ['model_not_found']],
    ['POST /v1/computers/{id}/exec', 409, ['computer_not_running', 'computer_busy']],
    ['POST /v1/computers/{id}/exec', 422, ['command_timed_out']],
    ['POST /v1/computers', 429, ['computer_limit_reached']],
    ['GET /v1/computers', 403, ['permission_denied']],
    ['GET /v1/models', 401, ['missing_api_key', 'invalid_api_key', 'expired_api_key']],
  ])('%s %d has its codes', (name, status, codes) => {
    expect(codesOf(name, status)).toEqual(expect.arrayContaining(codes));
  });

  test('belong to that operation only', () => {
    expect(codesOf('GET /v1/models', 403)).toEqual(['csrf_token_invalid', 'org_suspended']);
    expect(codesOf('POST /v1/embeddings', 409)).not.toContain('computer_not_running');
    expect(codesOf('POST /v1/embeddings', 400)).not.toContain('image_unavailable');
  });
});

// The document that an edge serves: its schemas are JSON Schema, and its examples are what they say.
import { startStack, type TestStack } from '@switchyard/testing';
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, expect, test } from 'vitest';

interface Media {
  schema?: AnySchemaObject;
}
interface Operation {
  parameters: { schema: AnySchemaObject }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media>; headers?: Record<string, Media> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: object;
}

let stack: TestStack;
let document: Document;
let operations: [string, Operation][];
const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));

beforeAll(async () => {
  stack = await startStack();
  document = (await (await fetch(`${stack.url}/v1/openapi.json`)).json()) as Document;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => stack?.stop());

const compile = (schema: AnySchemaObject) => ajv.compile({ ...schema, components: document.components });
const schemasOf = (media: Record<string, Media> = {}) =>
  Object.values(media).flatMap(({ schema }) => (schema ? [schema] : []));

test('every schema in it can be compiled', () => {
  let compiled = 0;
  for (const [, { parameters, requestBody, responses }] of operations)
    for (const schema of [
      ...parameters.map((parameter) => parameter.schema),
      ...schemasOf(requestBody?.content),
      ...Object.values(responses).flatMap(({ content, headers }) => [
        ...schemasOf(content),
        ...schemasOf(headers),
      ]),
    ]) {
      expect(() => compile(schema)).not.toThrow();
      compiled += 1;
    }
  expect(compiled).toBeGreaterThan(200);
});

test('every example of a request is one that its schema takes', () => {
  const faults = operations.flatMap(([name, { requestBody }]) =>
    schemasOf(requestBody?.content).flatMap((schema) => {
      const validate = compile(schema);
      return ((schema.examples ?? []) as unknown[])
        .filter((example) => !validate(example))
        .map((example) => `${name}: ${JSON.stringify(example)}: ${ajv.errorsText(validate.errors)}`);
    }),
  );
  expect(faults).toEqual([]);
});

/** What a reader may try at once: examples of the model endpoints name local models. */
test('every JSON example of a model endpoint is answered by a model of ours', async () => {
  const examples = operations.flatMap(([name, { requestBody }]) =>
    schemasOf({ json: requestBody?.content['application/json'] ?? {} }).flatMap((schema) =>
      ((schema.examples ?? []) as { model?: string }[])
        .filter(({ model }) => model !== undefined)
        .map((example) => [name, example] as const),
    ),
  );
  // Eight types; rerank has two paths, and language has one for each further dialect and one that counts tokens.
  expect(new Set(examples.map(([name]) => name)).size).toBe(13);
  for (const [name, example] of examples) {
    expect(example.model, name).toMatch(/^local\//);
    const response = await fetch(stack.url + name.slice('POST '.length), {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(example),
    });
    await response.arrayBuffer();
    // A sound that would be understood is no short example.
    const understood = name.endsWith('/audio/transcriptions') ? [400] : [200, 202];
    expect(understood, name).toContain(response.status);
  }
});

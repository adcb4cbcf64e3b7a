// The document that an edge serves: its schemas are JSON Schema, and its examples match them.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EVENTS } from '@switchyard/contracts';
import { startStack, type TestStack, temporaryFolder } from '@switchyard/testing';
import { SchemaCompiler } from '@switchyard/testing/openapi';
import { Ajv } from 'ajv';
import type { AnySchemaObject } from 'ajv/dist/2020.js';
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
  components: { schemas: Record<string, AnySchemaObject> };
}

let stack: TestStack;
let document: Document;
let operations: [string, Operation][];
let schemas: SchemaCompiler;

beforeAll(async () => {
  stack = await startStack();
  document = (await (await fetch(`${stack.url}/v1/openapi.json`)).json()) as Document;
  schemas = new SchemaCompiler(document.components.schemas);
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
});
afterAll(() => stack?.stop());

/** Examples of a schema, or of the one that it refers to. */
const examplesOf = ({ $ref, examples }: AnySchemaObject): unknown[] =>
  examples ?? document.components.schemas[String($ref).replace('#/components/schemas/', '')]?.examples ?? [];
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
      expect(() => schemas.compile(schema)).not.toThrow();
      compiled += 1;
    }
  expect(compiled).toBeGreaterThan(200);
});

test('every example of a request matches its schema', () => {
  const faults = operations.flatMap(([name, { requestBody }]) =>
    schemasOf(requestBody?.content).flatMap((schema) => {
      const validate = schemas.compile(schema);
      return examplesOf(schema)
        .filter((example) => !validate(example))
        .map((example) => `${name}: ${JSON.stringify(example)}: ${JSON.stringify(validate.errors)}`);
    }),
  );
  expect(faults).toEqual([]);
});

/** What a reader may try at once: examples of the model endpoints name local models. */
test('every JSON example of a model endpoint is answered by a model of ours', async () => {
  const examples = operations.flatMap(([name, { requestBody }]) =>
    schemasOf({ json: requestBody?.content['application/json'] ?? {} }).flatMap((schema) =>
      (examplesOf(schema) as { model?: string }[])
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
    // Audio with understandable speech is too long here.
    const understood = name.endsWith('/audio/transcriptions') ? [400] : [200, 202];
    expect(understood, name).toContain(response.status);
  }
});

/** Used as a program would use the types that a generator makes; it compiles when all names exist. */
const CLIENT = `
import type { components, operations } from './api';
type Schemas = components['schemas'];
type JsonOf<R> = R extends { content: { 'application/json': infer J } } ? J : never;
export type Computer = Schemas['Computer'];
export const list = (page: JsonOf<operations['listComputers']['responses'][200]>): Computer[] => page.data;
export const ask: Schemas['ChatCompletionRequest'] = { model: 'local/chat', messages: [] };
export const created = (file: Schemas['File']): number => file.created_at;
export type Exec = operations['execInComputer']['requestBody']['content']['application/json'];
export const exec: Exec = { command: 'ls', timeout: 300 };
export const codeOf = (event: Schemas['ExecEvent']): number | null => (event.type === 'exit' ? event.exit_code : null);
export const textOf = ({ choices }: Schemas['ChatCompletionChunk']) => choices[0]?.delta.content?.trim();
export const costOf = (event: Schemas['ResponsesEvent']): number | null =>
  event.type === 'response.completed' ? event.response.usage.cost : null;
export const saidIn = (event: Schemas['MessagesEvent']): string =>
  event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '';
`;

test('a generator makes types from it without a warning, and a program compiles with them', async () => {
  const folder = await temporaryFolder('generated');
  const require = createRequire(import.meta.url);
  const run = promisify(execFile);
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
  const generator = join(dirname(require.resolve('openapi-typescript')), '../bin/cli.js');
  // A member with a default may be left out of a request.
  const generated = [generator, 'openapi.json', '-o', 'api.d.ts', '--default-non-nullable=false'];
  const made = await run(process.execPath, generated, { cwd: folder });
  expect(made.stdout + made.stderr).not.toMatch(/warn|error|⚠|✘/i);
  await writeFile(join(folder, 'client.ts'), CLIENT);
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'preserve', 'client.ts', 'api.d.ts'];
  const compiled = await run(process.execPath, [compiler, ...options], { cwd: folder }).catch(
    (error) => error,
  );
  expect(compiled.stdout).toBe('');
});

test('the events are described in AsyncAPI 3, each with its shape', async () => {
  const described = (await (await fetch(`${stack.url}/v1/asyncapi.json`)).json()) as {
    components: {
      messages: Record<string, { payload: AnySchemaObject }>;
      schemas: Record<string, AnySchemaObject>;
    };
  };
  const specification = createRequire(import.meta.url)(
    '@asyncapi/specs/schemas/3.0.0-without-$id.json',
  ) as AnySchemaObject;
  const validator = addFormats.default(new Ajv({ strict: false, allErrors: true }));
  const validate = validator.compile(specification);
  expect(validate(described), validator.errorsText(validate.errors?.slice(0, 5))).toBe(true);
  expect(validate({ ...described, channels: { events: { address: 1 } } })).toBe(false);
  const { messages } = described.components;
  const events = new SchemaCompiler(described.components.schemas);
  expect(Object.keys(messages).sort()).toEqual([...Object.keys(EVENTS), 'error'].sort());
  for (const [name, { payload }] of Object.entries(messages))
    expect(() => events.compile(payload), name).not.toThrow();
});

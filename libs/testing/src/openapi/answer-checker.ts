// Checks whether an answer matches the OpenAPI document: its path, status, headers, media type and JSON.
import type { AnySchemaObject } from 'ajv/dist/2020.js';
import { type NamedSchemas, SchemaCompiler } from './schema-compiler.ts';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: NamedSchemas };
}

interface Operation {
  readonly parameters?: readonly { readonly 'x-rest-of-path'?: Rest }[];
  readonly responses: Readonly<Record<string, DescribedAnswer>>;
}

interface DescribedAnswer {
  readonly headers?: Readonly<Record<string, { required?: boolean; schema: AnySchemaObject }>>;
  readonly content?: Readonly<Record<string, { schema?: AnySchemaObject }>>;
}

/** An answer as received by a client. */
export interface Answer {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  /** The whole body if it is JSON; undefined otherwise, or when it was never read. */
  readonly json?: unknown;
}

export class AnswerChecker {
  readonly #document: OpenApiDocument;
  readonly #schemas: SchemaCompiler;

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#schemas = new SchemaCompiler(document.components.schemas);
  }

  /** Deviations from the document, in words; empty when there are none. */
  faultsOf(answer: Answer): string[] {
    const described = this.#describedAnswer(answer);
    const faults =
      typeof described === 'string'
        ? [described]
        : [...this.#headerFaults(answer, described), ...this.#bodyFaults(answer, described)];
    return faults.map((fault) => `${answer.method} ${answer.path} ${answer.status}: ${fault}`);
  }

  #describedAnswer({ method, path, status }: Answer): DescribedAnswer | string {
    const operations = this.#operationsAt(path);
    const operation = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
    if (operation)
      return (
        operation.responses[status] ??
        operation.responses.default ??
        'is a status that the operation does not tell of'
      );
    // An undescribed operation can only be refused.
    if (status !== (operations ? 405 : 404)) return 'is an answer where no operation is';
    const error = { $ref: '#/components/schemas/Error' };
    return { content: { 'application/json': { schema: error } } };
  }

  /** Operations of the matching path; of several, the one with the fewest parameters. */
  #operationsAt(path: string): Readonly<Record<string, Operation>> | undefined {
    const parameters = (template: string) => template.split('{').length;
    const [best] = Object.entries(this.#document.paths)
      .filter(([template, operations]) => fits(template, path, restOf(operations)))
      .map(([template]) => template)
      .sort((a, b) => parameters(a) - parameters(b));
    return best === undefined ? undefined : this.#document.paths[best];
  }

  #headerFaults({ headers }: Answer, described: DescribedAnswer): string[] {
    return Object.entries(described.headers ?? {}).flatMap(([name, { required = false, schema }]) => {
      const value = headers.get(name);
      if (value === null) return required ? [`has no ${name}`] : [];
      return this.#faults(schema, value).map((fault) => `${name}: ${value} ${fault}`);
    });
  }

  #bodyFaults({ method, headers, json }: Answer, described: DescribedAnswer): string[] {
    if (!described.content) return []; // the document does not describe a body
    const type = headers.get('content-type')?.split(';')[0]?.trim() ?? '';
    const media = Object.entries(described.content ?? {}).find(([one]) => isOf(one, type))?.[1];
    if (!media) return [`is of the type ${JSON.stringify(type)}, which the document does not list`];
    if (method === 'HEAD' || json === undefined || !media.schema) return [];
    return this.#faults(media.schema, json);
  }

  #faults(schema: AnySchemaObject, value: unknown): string[] {
    const validate = this.#schemas.compile(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].filter(Boolean).join(' '),
    );
  }
}

/** A last parameter that takes the rest of the path, slashes included; `optional`: the slash before it too. */
type Rest = true | 'optional';

function fits(template: string, path: string, rest: Rest | undefined): boolean {
  const takesRest = rest !== undefined;
  const wanted = template.split('/');
  const given = path.split('/');
  if (rest === 'optional' && given.length === wanted.length - 1) given.push('');
  if (takesRest && given.length > wanted.length)
    given.splice(wanted.length - 1, given.length, given.slice(wanted.length - 1).join('/'));
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => {
      if (!part.startsWith('{')) return part === given[index];
      return given[index] !== '' || (takesRest && index === wanted.length - 1);
    })
  );
}

function restOf(operations: Readonly<Record<string, Operation>>): Rest | undefined {
  return Object.values(operations)
    .flatMap(({ parameters = [] }) => parameters.map((parameter) => parameter['x-rest-of-path']))
    .find((rest) => rest !== undefined);
}

/** `audio/*` matches every kind of audio, `*\/*` everything. */
function isOf(described: string, type: string): boolean {
  if (described === '*/*') return type !== '';
  return described === type || (described.endsWith('/*') && type.startsWith(described.slice(0, -1)));
}

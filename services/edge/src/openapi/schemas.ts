// The schemas of the OpenAPI document: a shape that contracts export stands once in the components, under the name of
// its export, and everything refers to it.
import * as contracts from '@switchyard/contracts';
import { z } from 'zod';

type Json = Record<string, unknown>;
/** Whether a shape is read (`input`: defaults may be missing) or written. */
type Io = 'input' | 'output';

const PREFIX = '#/components/schemas/';
/** Kinds of shapes that deserve a name; an id or an amount stays where it is used. */
const NAMED_KINDS: ReadonlySet<string> = new Set(['object', 'union', 'enum']);

/** Schemas as written, with the references between them, until `document` settles their names. */
export class Schemas {
  /** `<name>~<io>` -> JSON Schema. */
  readonly #components = new Map<string, Json>();
  /** Bodies that were generated before: that of errors is in every operation. */
  readonly #bodies = { input: new Map<z.ZodType, Json>(), output: new Map<z.ZodType, Json>() };

  /** The schema of a body, as a reference when it has a name. */
  of(schema: z.ZodType, io: Io): Json {
    const json = this.#bodies[io].get(schema) ?? this.#generate(schema, io, () => true);
    this.#bodies[io].set(schema, json);
    return json;
  }

  /** The schema itself; only its parts are references. */
  inline(schema: z.ZodType, io: Io): Json {
    return this.#generate(schema, io, (one) => one !== schema);
  }

  /**
   * Puts the components into a document, and gives them their names: a shape that differs as input has the suffix
   * `Input` there.
   */
  document<T extends { components: Json }>(document: T): T {
    const differing = this.#differing();
    const nameOf = (key: string) => {
      const [name = '', io] = key.split('~');
      return io === 'input' && differing.has(name) ? `${name}Input` : name;
    };
    const schemas = Object.fromEntries(
      [...this.#components].map(([key, schema]) => [nameOf(key), schema]).sort(),
    );
    const text = JSON.stringify({ ...document, components: { ...document.components, schemas } });
    return JSON.parse(
      text.replaceAll(/#\/components\/schemas\/(\w+~\w+)/g, (_, key) => PREFIX + nameOf(key)),
    );
  }

  #generate(schema: z.ZodType, io: Io, mayName: (schema: z.ZodType) => boolean): Json {
    const metadata = registry((one) => {
      const name = mayName(one) ? NAMES.get(one) : undefined;
      return name === undefined ? undefined : `${name}~${io}`;
    });
    const options = { io, unrepresentable: 'any', target: 'draft-2020-12', metadata } as const;
    const { $schema: _dialect, $defs = {}, ...json } = z.toJSONSchema(schema, options) as Json;
    for (const [key, part] of Object.entries($defs as Record<string, Json>))
      this.#components.set(key, toReferences(part));
    return toReferences(json);
  }

  /** Names of shapes that are used both ways and differ, themselves or in a part. */
  #differing(): ReadonlySet<string> {
    const found = new Set<string>();
    const textOf = (key: string) => JSON.stringify(this.#components.get(key));
    const names = [...this.#components.keys()].flatMap((key) => key.match(/^(\w+)~input$/)?.slice(1) ?? []);
    const both = names.filter((name) => this.#components.has(`${name}~output`));
    for (let size = -1; size !== found.size; ) {
      size = found.size;
      for (const name of both) {
        const input = textOf(`${name}~input`);
        const differs = input.replaceAll('~input"', '~output"') !== textOf(`${name}~output`);
        const parts = [...input.matchAll(/schemas\/(\w+)~input"/g)].map(([, part]) => part ?? '');
        if (differs || parts.some((part) => found.has(part))) found.add(name);
      }
    }
    return found;
  }
}

/** `computerObject` -> `Computer`, `createKeyRequest` -> `CreateKeyRequest`. */
const NAMES: ReadonlyMap<z.ZodType, string> = namesOf(contracts);

function namesOf(exported: Record<string, unknown>): Map<z.ZodType, string> {
  const names = new Map<z.ZodType, string>();
  for (const [name, value] of Object.entries(exported)) {
    if (!(value instanceof z.ZodType) || !NAMED_KINDS.has(value.def.type) || names.has(value)) continue;
    const short = name.replace(/(Object|Body)$/, '');
    names.set(value, short.charAt(0).toUpperCase() + short.slice(1));
  }
  const all = [...names.values()];
  const twice = all.find((name, index) => all.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two contracts would be named ${twice} in the OpenAPI document`);
  return names;
}

/** Zod's own registry of descriptions, with ids of named schemas. */
function registry(idOf: (schema: z.ZodType) => string | undefined): typeof z.globalRegistry {
  const found = Object.create(z.globalRegistry) as typeof z.globalRegistry;
  found.get = ((schema: z.ZodType) => {
    const id = idOf(schema);
    const meta = z.globalRegistry.get(schema);
    return id === undefined ? meta : { ...meta, id };
  }) as typeof z.globalRegistry.get;
  return found;
}

function toReferences(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${PREFIX}`)) as Json;
}

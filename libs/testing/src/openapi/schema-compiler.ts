// Compiles schemas of an OpenAPI or AsyncAPI document. Each named schema is compiled once, whatever refers to it.
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type NamedSchemas = Readonly<Record<string, AnySchemaObject>>;

export class SchemaCompiler {
  readonly #ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
  readonly #validators = new WeakMap<AnySchemaObject, ValidateFunction>();

  /** @param schemas those of the document's `components`, by name */
  constructor(schemas: NamedSchemas) {
    for (const [name, schema] of Object.entries(schemas))
      this.#ajv.addSchema(withOwnIds(schema), `/components/schemas/${name}`);
  }

  /** @throws Error for an invalid schema, and for a reference to an unknown name */
  compile(schema: AnySchemaObject): ValidateFunction {
    const known = this.#validators.get(schema);
    if (known) return known;
    const validate = this.#ajv.compile(withOwnIds(schema));
    this.#validators.set(schema, validate);
    return validate;
  }
}

/** Named schemas are documents of their own to Ajv, so references are paths instead of fragments. */
function withOwnIds(schema: AnySchemaObject): AnySchemaObject {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"/components/'));
}

// JSON schemas and the documents that they describe.

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Compares answers with the OpenAPI document that their edge serves. */

export { SchemaCompiler } from './schema-compiler.ts';
export { watchAnswers } from './watch-answers.ts';

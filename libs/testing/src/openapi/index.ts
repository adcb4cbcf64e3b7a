/** Answers held against the OpenAPI document that their own edge serves. */

export { SchemaCompiler } from './schema-compiler.ts';
export { watchAnswers } from './watch-answers.ts';

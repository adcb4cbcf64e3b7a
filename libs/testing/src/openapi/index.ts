/** Answers held against the OpenAPI document that their own edge serves. */
export { watchAnswers } from './watch-answers.ts';

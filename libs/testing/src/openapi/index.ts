/** Answers held against the OpenAPI document that their own edge serves. */
export { type Answer, AnswerChecker, type OpenApiDocument } from './answer-checker.ts';
export { type AnswerWatch, watchAnswers } from './watch-answers.ts';

// Each charged field has one name per dialect: another name would bypass the hold, because unknown fields go to the
// maker.
import { expect, test } from 'vitest';
import { completionRequest, responsesRequest } from './index.ts';

const completion = { model: 'acme/any', prompt: 'Hello!' };
const response = { model: 'acme/any', input: 'Hello!' };

test.each([
  ['completions', completionRequest, completion, { max_completion_tokens: '100000' }],
  ['completions', completionRequest, completion, { max_output_tokens: 100_000 }],
  ['responses', responsesRequest, response, { max_tokens: 100_000 }],
  ['responses', responsesRequest, response, { max_completion_tokens: '100000' }],
  ['responses', responsesRequest, response, { n: 8 }],
])('%s refuses it: %#', (_dialect, schema, request, more) => {
  expect(schema.safeParse(request).success).toBe(true);
  expect(schema.safeParse({ ...request, ...more }).success).toBe(false);
});

// Errors of upstreams as their servers word them, and what each means for fallback.
import { expect, test } from 'vitest';
import { type Failure, failureOfAnswer } from './failure.ts';

type Expected = Partial<Failure>;

const TOO_LONG = 'This model’s maximum context length is 4096 tokens, you asked for 5000.';
const NO_CREDIT =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.';
const LIMITED =
  'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://help.aliyun.com/zh/model-studio/error-code';
const GROQ =
  'Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.';

test.each<[server: string, status: number, body: object | string, expected: Expected]>([
  [
    'SGLang, a long prompt',
    400,
    {
      object: 'error',
      message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    { kind: 'too_long', message: expect.stringContaining('61709 tokens') },
  ],
  [
    'vLLM before 0.10, a long prompt',
    400,
    { object: 'error', message: TOO_LONG, type: 'BadRequestError', param: null, code: 400 },
    { kind: 'too_long', message: TOO_LONG },
  ],
  [
    'vLLM, a bad request whose own words sound like an error of our account',
    400,
    {
      object: 'error',
      message:
        "[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required', 'input': {'min_p': 'incorrect API key, spending limit'}}]",
      type: 'BadRequestError',
      code: 400,
    },
    { kind: 'rejected', status: 400 },
  ],
  [
    'vLLM, the same as a text of pydantic',
    400,
    {
      object: 'error',
      message:
        "1 validation error for UserMessage\nmetadata\n  Extra inputs are not permitted [type=extra_forbidden, input_value={'a': 'spending limit'}, input_type=dict]",
      type: 'BadRequestError',
      code: 400,
    },
    { kind: 'rejected', status: 400 },
  ],
  ['FastAPI, a text', 404, { detail: 'Not Found' }, { kind: 'fault', message: 'Not Found' }],
  [
    'FastAPI, a list',
    422,
    { detail: [{ loc: ['body', 'top_p'], msg: 'Input should be a valid number', type: 'float_parsing' }] },
    { kind: 'rejected', message: 'body: top_p: Input should be a valid number' },
  ],
  [
    'OpenAI, without credit of ours',
    429,
    {
      error: { message: NO_CREDIT, type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
    },
    { kind: 'fault', message: 'the upstream requires payment from us (402)' },
  ],
  [
    'Alibaba, over the tokens per minute',
    429,
    { error: { message: LIMITED, type: 'insufficient_quota', param: null, code: 'insufficient_quota' } },
    { kind: 'rate_limited', message: LIMITED },
  ],
  [
    'Groq, a request over the tokens per minute',
    413,
    { error: { message: GROQ, type: 'tokens', code: 'rate_limit_exceeded' } },
    { kind: 'too_long', message: GROQ },
  ],
  [
    'a proxy, a body that is too large for any upstream behind it',
    413,
    '<html>413 Request Entity Too Large</html>',
    { kind: 'rejected', message: 'the upstream answered 413' },
  ],
  [
    'Mistral, a retired model',
    400,
    {
      object: 'error',
      message: 'Invalid model: open-mistral-7b',
      type: 'invalid_model',
      param: null,
      code: '1500',
    },
    { kind: 'fault', message: 'Invalid model: open-mistral-7b' },
  ],
  [
    'xAI, a bad key of ours',
    400,
    { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***bc.' },
    { kind: 'fault', message: 'the upstream refused our credentials (401)' },
  ],
  [
    'xAI, refused content',
    403,
    { code: 'No permission', error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE' },
    { kind: 'rejected', message: expect.stringContaining('usage guidelines') },
  ],
  ['an empty message', 400, { error: { message: '' } }, { message: 'the upstream answered 400' }],
])('%s', (_server, status, body, expected) => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  expect(failureOfAnswer(status, bytes, null)).toMatchObject(expected);
});

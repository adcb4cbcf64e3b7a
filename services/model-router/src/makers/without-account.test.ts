import { describe, expect, test } from 'vitest';
import { failureOfAnswer, failureOfReport, faultOf } from './failure.ts';
import { withoutAccount } from './without-account.ts';

/** Real error messages of makers, from their documentation and user reports, with invented identifiers. */
const TEXTS: [string, string, string][] = [
  [
    'OpenAI, a rate limit',
    'Rate limit reached for gpt-4o in organization org-abc123 on tokens per min (TPM): Limit 30000, Used 29500, Requested 1500. Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more.',
    'Rate limit reached for gpt-4o in organization [redacted] on tokens per min (TPM): Limit 30000, Used 29500, Requested 1500. Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more.',
  ],
  [
    'OpenAI, a key',
    'Incorrect API key provided: sk-proj-********************1a2B. You can find your API key at https://platform.openai.com/account/api-keys.',
    'Incorrect API key provided: [redacted] You can find your API key at https://platform.openai.com/account/api-keys.',
  ],
  [
    'OpenAI, a project',
    'Project `proj_Zq8Lk2` does not have access to model `gpt-5`',
    'Project `[redacted]` does not have access to model `gpt-5`',
  ],
  [
    'Groq, a rate limit',
    'Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01hxyzabcdef` service tier `on_demand` on tokens per minute (TPM): Limit 6000',
    'Rate limit reached for model `llama-3.3-70b-versatile` in organization `[redacted]` service tier `on_demand` on tokens per minute (TPM): Limit 6000',
  ],
  [
    'Anthropic, a rate limit',
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute (org: 3f0c9a52-1b7e-4c55-9c1d-0a1b2c3d4e5f, model: claude-sonnet-5).",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute (org: [redacted], model: claude-sonnet-5).",
  ],
  [
    'Anthropic, the same in other words',
    'This request would exceed the rate limit for your organization (3f0c9a52-1b7e-4c55-9c1d-0a1b2c3d4e5f) of 30,000 input tokens per minute.',
    'This request would exceed the rate limit for your organization ([redacted]) of 30,000 input tokens per minute.',
  ],
  [
    'Google, a quota',
    "Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'GenerateContent request limit per minute for a region' of service 'generativelanguage.googleapis.com' for consumer 'project_number:123456789012'.",
    "Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'GenerateContent request limit per minute for a region' of service 'generativelanguage.googleapis.com' for consumer '[redacted]'.",
  ],
  [
    'Google, an API that is off',
    'Generative Language API has not been used in project 123456789012 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=123456789012 then retry.',
    'Generative Language API has not been used in project [redacted] before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=[redacted] then retry.',
  ],
  [
    'Google, a model',
    'Publisher Model `projects/123456789/locations/us-central1/publishers/google/models/gemini-x` was not found or your project does not have access to it.',
    'Publisher Model `projects/[redacted]/locations/us-central1/publishers/google/models/gemini-x` was not found or your project does not have access to it.',
  ],
  [
    'Azure, a resource',
    "The client '3f0c9a52-1b7e-4c55-9c1d-0a1b2c3d4e5f' does not have authorization over scope '/subscriptions/9a521b7e-4c55-9c1d-0a1b-2c3d4e5f6a7b/resourceGroups/acme-prod/providers/Microsoft.CognitiveServices/accounts/acme-ai'.",
    "The client '[redacted]' does not have authorization over scope '/subscriptions/[redacted]/resourceGroups/[redacted]/providers/Microsoft.CognitiveServices/accounts/[redacted]'.",
  ],
  [
    'Azure, a host',
    'Access denied: https://acme-prod.openai.azure.com/openai/deployments is not a private endpoint.',
    'Access denied: https://[redacted].openai.azure.com/openai/deployments is not a private endpoint.',
  ],
  [
    'Azure, a directory',
    "AADSTS700016: Application with identifier '3f0c9a52-1b7e-4c55-9c1d-0a1b2c3d4e5f' was not found in the directory 'Acme Corp'.",
    "AADSTS700016: Application with identifier '[redacted]' was not found in the directory '[redacted]'.",
  ],
  [
    'AWS',
    'User: arn:aws:iam::123456789012:user/switchyard is not authorized to perform: bedrock:InvokeModel',
    'User: [redacted] is not authorized to perform: bedrock:InvokeModel',
  ],
  [
    'xAI, a limit of spending',
    'Your team 3f0c9a52-1b7e-4c55-9c1d-0a1b2c3d4e5f has either used all available credits or reached its monthly spending limit.',
    'Your team [redacted] has either used all available credits or reached its monthly spending limit.',
  ],
  [
    'xAI, a key',
    'Incorrect API key provided: xa***34. You can obtain an API key from https://console.x.ai.',
    'Incorrect API key provided: [redacted] You can obtain an API key from https://console.x.ai.',
  ],
  [
    'an address',
    'Contact the owner billing+ai@acme.example of this account.',
    'Contact the owner [redacted] of this account.',
  ],
  [
    'an account after a colon',
    'Spending limit reached (account: acme)',
    'Spending limit reached (account: [redacted])',
  ],
];

describe('an upstream’s words', () => {
  test.each(TEXTS)('lose the identifiers of our account: %s', (_, words, left) => {
    expect(withoutAccount(words)).toBe(left);
  });

  test.each([
    "Invalid value for 'user': must be a string.",
    'This model supports at most 4096 completion tokens, whereas you provided 100000.',
    "messages.1.content: Expected string, received 'number' at position 12.",
    'Your organization must be verified to use the model `gpt-image-2`.',
    'Limit per organization 500 requests per minute. See https://platform.openai.com/settings/organization/limits.',
    'You can retry your request; the request ID is req_0123456789abcdef0123456789abcdef.',
    'Internal error, request_id: 3f0c9a52-1b7e-4c55-9c1d-0a1b2c3d4e5f',
    'Unexpected token: } in JSON at position 12; Bearer authentication is needed.',
  ])('stay as they are where they have none: %s', (words) => {
    expect(withoutAccount(words)).toBe(words);
  });

  test('are scanned in linear time', () => {
    const computedMs = () => process.threadCpuUsage().user / 1_000;
    const before = computedMs();
    for (const part of ['a', 'a.', 'organization ', 'sk-', "project '", 'arn:', 'org-a', '1-'])
      withoutAccount(part.repeat(1_000));
    expect(computedMs() - before).toBeLessThan(2_000);
  });
});

describe('a failure', () => {
  const [, words, left] = TEXTS[0] as [string, string, string];
  const error = (code: string | null) => ({ message: words, type: 'x', param: null, code });

  test.each([400, 404, 429, 500, 503])(
    'of an answer with %d shows the account to the operator only',
    (status) => {
      const failure = failureOfAnswer(status, Buffer.from(JSON.stringify({ error: error(null) })), null);
      expect(failure).toMatchObject({ message: left, said: words });
    },
  );

  test('that is reported inside an answer has no account ids either', () => {
    const failure = failureOfReport(error('rate_limit_exceeded'));
    expect(failure.message).toBe(`the answer reported an error: ${left}`);
    expect(failure.said).toContain('org-abc123');
  });

  test('of a stream or a connection has no account ids either', () => {
    const failure = faultOf(new Error(words));
    expect(failure).toMatchObject({ message: left, said: words });
  });

  test('whose message names no account keeps a single copy of it', () => {
    expect(failureOfAnswer(500, Buffer.from('{"error":"overloaded"}'), null)).toEqual({
      status: 500,
      message: 'overloaded',
      kind: 'fault',
      retryAfterS: null,
    });
  });
});

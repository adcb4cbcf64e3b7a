import type { CatalogModel, ModelCallHead, Upstream } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import type { Translate } from '../dialects/dialect.ts';
import { TRANSLATIONS } from '../dialects/registry.ts';
import type { Maker } from '../makers/maker.ts';
import { JsonRequest } from './json-request.ts';
import { TranslatedRequest } from './translated-request.ts';

const model = {
  id: 'acme/chat-1',
  type: 'language',
  supported_parameters: [] as string[],
  upstreams: [] as Upstream[],
  pricing: { input_token: '0.000001', output_token: '0.000002' },
} as CatalogModel;
const upstream = { adapter: 'openai-compatible', model: 'gpt-4o-mini' } as Upstream;
const head = (dialect: ModelCallHead['dialect']): ModelCallHead => ({
  ...{ request_id: 'req_1', org: 'org_1', key_id: 'key_1', models: [model.id], dialect },
  ...{ stream: false, include_usage: false, received_at: 0 },
});
const bytes = (body: object) => Buffer.from(JSON.stringify({ model: model.id, ...body }));

const said = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const { messages } = said('Hello!');
const chat = new JsonRequest('language', bytes({ messages, max_tokens: 100 }), head('chat'));
const BODIES = {
  responses: { input: 'Hello!', max_output_tokens: 100 },
  messages: { messages, max_tokens: 100 },
  completions: { prompt: 'Hello!', max_tokens: 100 },
};

describe.each(Object.keys(BODIES) as (keyof typeof BODIES)[])('a request in the dialect %s', (dialect) => {
  const translate = TRANSLATIONS[dialect];
  if (!translate) throw new Error(`no translation of ${dialect}`);
  const request = (more: object = {}) =>
    new TranslatedRequest(translate, bytes({ ...BODIES[dialect], ...more }), head(dialect), {});

  test('is held and charged like the same chat', () => {
    expect(request().expected(model).cost).toBe(chat.expected(model).cost);
    expect(request().accepted(model)).toEqual(chat.accepted(model));
  });

  test('is limited to the output that the caller’s budget covers', () => {
    const { body } = request().toUpstream(model, upstream, 7);
    expect(JSON.parse(body.toString('utf8'))).toMatchObject({
      model: 'gpt-4o-mini',
      messages,
      max_tokens: 7,
    });
  });

  test('reads the text in an answer whose content is a list of parts', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ];
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    const { body } = request().finish(model, bytes({ choices }), upstream);
    expect(body.toString('utf8')).toContain('"text":"Hello"');
  });

  test('gives a maker no field that changes its price', () => {
    const asked = request({ provider_options: { service_tier: 'priority' } });
    const refusal = asked.refusalOf(model);
    const sent = asked.toUpstream(model, upstream).body.toString('utf8');
    if (refusal) expect(refusal.param).toBe('provider_options.service_tier');
    else expect(sent).not.toContain('service_tier');
  });
});

describe.each(['messages', 'responses'] as const)('a native request in the dialect %s', (dialect) => {
  const upstream = { adapter: 'native', model: 'm' } as Upstream;
  const makers = { native: { speaks: [dialect] } as unknown as Maker };
  const translate = TRANSLATIONS[dialect] as Translate;
  const native = (body: object, given = translate) =>
    new TranslatedRequest(given, bytes(body), { ...head(dialect), stream: true }, makers);
  const metadata = { user_id: 'a '.repeat(50_000) };
  const text = 'A'.repeat(1024 * 1024);
  const body = { ...BODIES[dialect], metadata, ...(dialect === 'messages' ? said(text) : { input: text }) };
  const content = [{ type: dialect === 'messages' ? 'text' : 'output_text', text: 'Hi' }];
  const uncounted = Buffer.from(JSON.stringify({ content, output: [{ type: 'message', content }] }));

  test('is charged the input that its hold counts, when its maker has not counted', () => {
    const request = native(body);
    const held = request.accepted(model).quantities.input_tokens;
    const left = request.streamedAnswer(model, upstream)?.produced();
    expect(left?.price.quantities.input_tokens).toBe(held);
    expect(request.finish(model, uncounted, upstream).price.quantities.input_tokens).toBe(held);
  });

  test('is estimated once, since a budget asks for the cost of its stream on every chunk', () => {
    let reads = 0;
    const message = {
      role: 'user',
      get content() {
        reads += 1;
        return 'Hi';
      },
    };
    const request = native(body, (...given) => ({ ...translate(...given), chat: { messages: [message] } }));
    const stream = request.streamedAnswer(model, upstream);
    reads = 0;
    for (const _chunk of [1, 2, 3]) stream?.produced();
    expect(reads).toBe(1);
  });
});

/** A history with a number above 2^53. */
const CALLED =
  '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"id":12345678901234567890}}]}]}';

test('a translated request has the numbers of earlier tool calls with all their digits', () => {
  const translate = TRANSLATIONS.messages as Translate;
  const request = new TranslatedRequest(translate, Buffer.from(CALLED), head('messages'), {});
  const { body } = request.toUpstream(model, upstream);
  expect(JSON.parse(body.toString())).toMatchObject({
    messages: [{}, { tool_calls: [{ function: { arguments: '{"id":12345678901234567890}' } }] }],
  });
});

describe('a request that passes to a maker of its dialect', () => {
  const anthropic = { adapter: 'anthropic', model: 'claude' } as Upstream;
  const makers = { anthropic: { speaks: ['messages'] } as unknown as Maker };
  const passed = (body: Buffer, anthropic_beta = '') =>
    new TranslatedRequest(
      TRANSLATIONS.messages as Translate,
      body,
      { ...head('messages'), anthropic_beta },
      makers,
    );
  const thinking = { type: 'enabled', budget_tokens: 2_000 };

  test('keeps its bytes, unless an object in them has a member twice', () => {
    const text = `{"model": "m",  "max_tokens": 9, "messages": [{"role": "user", "content": "a:\\"b\\":"}]}`;
    expect(passed(Buffer.from(text)).toUpstream(model, anthropic).body.toString()).toBe(
      text.replace('"m"', '"claude"'),
    );
    expect(passed(Buffer.from(CALLED)).toUpstream(model, anthropic).body.toString()).toBe(
      CALLED.replace('"m"', '"claude"'),
    );
    const calledTwice = CALLED.replace('"name"', '"name":"g","name"');
    const rewritten = passed(Buffer.from(calledTwice)).toUpstream(model, anthropic).body.toString();
    expect(rewritten).toContain('"input":{"id":12345678901234567890}');
    const twice = text.replace('"role"', '"role": "assistant", "role"');
    const sent = passed(Buffer.from(twice)).toUpstream(model, anthropic).body.toString();
    expect(sent).not.toContain('assistant');
    expect(JSON.parse(sent)).toEqual({ ...JSON.parse(text), model: 'claude' });
  });

  test('keeps the betas that change no price', () => {
    const betas =
      'claude-code-20250219, interleaved-thinking-2025-05-14,context-1m-2025-08-07,unknown-2026-01-01';
    const { native } = passed(bytes(BODIES.messages), betas).toUpstream(model, anthropic);
    expect(native?.headers).toEqual({
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14',
    });
  });

  test.each([
    ['for an hour', { ttl: '1h' }, 200n],
    ['for minutes', {}, 125n],
  ])('holds the price of writing what is marked for the cache %s', (_, ttl, percent) => {
    const rates = { cache_write_input_token: '0.00000125', cache_write_1h_input_token: '0.000002' };
    const writing = { ...model, upstreams: [anthropic], pricing: { ...rates, input_token: '0.000001' } };
    const held = (mark: object, of = writing) =>
      passed(bytes({ ...said([{ type: 'text', text: 'Hi', ...mark }]), max_tokens: 9 })).expected(of).cost;
    const mark = { cache_control: { type: 'ephemeral', ...ttl } };
    expect(held(mark)).toBe((held({}) * percent) / 100n);
    expect(held(mark, { ...writing, upstreams: [upstream] })).toBe(held({}));
  });

  test('is refused when the budget does not cover its thinking', () => {
    const asked = passed(bytes({ messages, max_tokens: 4_000, thinking }));
    const { cost, outputTokensWithin } = asked.expected({ ...model, upstreams: [anthropic] });
    expect(outputTokensWithin?.(cost)).toBe(4_000);
    expect(() => outputTokensWithin?.(cost / 4n)).toThrow(/budget_tokens/);
  });

  test('is shortened to the budget for another maker, which gets an effort and no number of tokens', () => {
    const asked = passed(
      bytes({ messages, max_tokens: 32_000, thinking: { ...thinking, budget_tokens: 31_999 } }),
    );
    const { outputTokensWithin } = asked.expected({ ...model, upstreams: [upstream] });
    const tokens = outputTokensWithin?.(20_000n * 2_000n) ?? 0;
    expect(tokens).toBeGreaterThan(19_000);
    expect(tokens).toBeLessThan(20_000);
    expect(JSON.parse(asked.toUpstream(model, upstream, tokens).body.toString())).toMatchObject({
      max_tokens: tokens,
      reasoning_effort: expect.any(String),
    });
  });
});

describe('a Responses request that passes to OpenAI', () => {
  const openai = { adapter: 'openai', model: 'gpt-5' } as Upstream;
  const makers = { openai: { speaks: ['responses'] } as unknown as Maker };
  const passed = (body: object) =>
    new TranslatedRequest(TRANSLATIONS.responses as Translate, bytes(body), head('responses'), makers);
  const sent = (body: object, tokens?: number) =>
    JSON.parse(passed(body).toUpstream(model, openai, tokens).body.toString()) as object;

  test('is not stored, and is limited to the output that the budget covers', () => {
    const { native } = passed(BODIES.responses).toUpstream(model, openai);
    expect(native).toEqual({ dialect: 'responses', headers: {} });
    expect(sent({ input: 'Hi', store: true }, 30)).toEqual({
      ...{ model: 'gpt-5', input: 'Hi', store: false, max_output_tokens: 30 },
    });
    expect(sent(BODIES.responses, 30)).toMatchObject({ max_output_tokens: 30 });
  });

  test('is refused when the budget does not cover OpenAI’s minimum output', () => {
    const { cost, outputTokensWithin } = passed(BODIES.responses).expected({ ...model, upstreams: [openai] });
    expect(outputTokensWithin?.(cost)).toBe(100);
    expect(() => outputTokensWithin?.(cost / 10n)).toThrow(/16 output tokens/);
  });

  test('with a chat-only field is translated', () => {
    expect(passed({ input: 'Hi', seed: 7 }).toUpstream(model, openai)).not.toHaveProperty('native');
  });

  test.each([
    ...['web_search', 'file_search', 'code_interpreter', 'computer_use_preview', 'image_generation', 'mcp'],
    ...['shell', 'a_tool_of_tomorrow'],
  ])('is refused with a hosted tool: %s', (type) => {
    expect(() => passed({ input: 'Hi', tools: [{ type: 'custom', name: 'f' }, { type }] })).toThrow(
      /^tools\.1\.type: Hosted tools/,
    );
  });

  const cached = (ttl?: string) => [
    { type: 'input_text', text: 'Hi', prompt_cache_breakpoint: { mode: 'explicit', ...(ttl && { ttl }) } },
  ];
  test.each<[string, object]>([
    ['prompt_cache_options.prewarm', { prompt_cache_options: { prewarm: true } }],
    ['prompt_cache_options.ttl', { prompt_cache_options: { ttl: '12h' } }],
    ['input.0.content.0.prompt_cache_breakpoint.ttl', { input: [{ role: 'user', content: cached('12h') }] }],
    [
      'input.0.output.0.prompt_cache_breakpoint.ttl',
      { input: [{ type: 'custom_tool_call_output', call_id: 'c1', output: cached('12h') }] },
    ],
  ])('is refused where OpenAI bills its cache beyond the catalog’s price: %s', (param, body) => {
    const refusal = () => {
      const error = passed({ input: 'Hi', ...body }).refusalOf({ ...model, upstreams: [openai] });
      if (error) throw error;
    };
    expect(refusal).toThrow(expect.objectContaining({ code: 'invalid_request', param }));
  });

  test('keeps its cache options at the default TTL', () => {
    const options = { prompt_cache_options: { mode: 'explicit', ttl: '30m' } };
    const input = [{ role: 'user', content: [...cached(), ...cached('30m')] }];
    expect(sent({ input, ...options })).toMatchObject({ input, ...options });
  });

  const patch = { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark' } };
  test.each<[string, object]>([
    ['tools.1.type', { tools: [{ type: 'function', name: 'f' }, patch] }],
    ['tools.0.type', { tools: [{ type: 'local_shell' }] }],
    ['tools.0.tools.0.type', { tools: [{ type: 'namespace', name: 'files', tools: [patch] }] }],
    ['tools.0.type', { tools: [patch], tool_choice: { type: 'custom', name: 'apply_patch' } }],
    [
      'tools.0.type',
      { tools: [patch], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [patch] } },
    ],
    [
      'input.0.type',
      { input: [{ type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: 'x' }] },
    ],
    ['input.0.type', { input: [{ type: 'custom_tool_call_output', call_id: 'c1', output: 'Done' }] }],
    ['input.0.type', { input: [{ type: 'local_shell_call_output', call_id: 'c1', output: 'Done' }] }],
    ['input.0.type', { input: [{ type: 'apply_patch_call', call_id: 'c1', status: 'completed' }] }],
  ])('keeps a tool that the caller runs and chat lacks; other makers are refused %s: %j', (param, body) => {
    const asked = passed({ input: 'Hi', ...body });
    const gpt = { ...model, upstreams: [openai] };
    expect(asked.refusalOf(gpt)).toBeNull();
    expect(sent({ input: 'Hi', ...body })).toEqual({ model: 'gpt-5', store: false, input: 'Hi', ...body });
    expect(asked.accepted(gpt).costNano).toBeGreaterThan(passed({ input: 'Hi' }).accepted(gpt).costNano);
    expect(asked.refusalOf({ ...model, upstreams: [upstream] })).toMatchObject({
      ...{ code: 'invalid_request', param },
      message: expect.stringContaining('Only OpenAI’s own models'),
    });
    // A model may have upstreams of both kinds.
    expect(() => asked.toUpstream(model, upstream)).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ kind: 'unsupported', param }) }),
    );
  });

  test('with such a tool and a chat field is refused', () => {
    const asked = passed({ input: 'Hi', tools: [patch], seed: 7 });
    expect(asked.refusalOf({ ...model, upstreams: [openai] })).toMatchObject({ param: 'tools.0.type' });
  });
});

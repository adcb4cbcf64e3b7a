import type { CatalogModel, ModelCallHead, Upstream } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { TRANSLATIONS } from '../dialects/registry.ts';
import { JsonRequest } from './json-request.ts';
import { TranslatedRequest } from './translated-request.ts';

const model = {
  id: 'acme/chat-1',
  type: 'language',
  supported_parameters: [] as string[],
  pricing: { input_token: '0.000001', output_token: '0.000002' },
} as CatalogModel;
const upstream = { adapter: 'openai-compatible', model: 'gpt-4o-mini' } as Upstream;
const head = (dialect: ModelCallHead['dialect']): ModelCallHead => ({
  ...{ request_id: 'req_1', org: 'org_1', key_id: 'key_1', models: [model.id], dialect },
  ...{ stream: false, include_usage: false, received_at: 0 },
});
const bytes = (body: object) => Buffer.from(JSON.stringify({ model: model.id, ...body }));

const messages = [{ role: 'user', content: 'Hello!' }];
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

  test('holds and is charged what the same chat would be', () => {
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

  test('gives a maker no field that changes its price', () => {
    const asked = request({ provider_options: { service_tier: 'priority' } });
    const refusal = asked.refusalOf(model);
    const sent = asked.toUpstream(model, upstream).body.toString('utf8');
    if (refusal) expect(refusal.param).toBe('provider_options.service_tier');
    else expect(sent).not.toContain('service_tier');
  });
});

// Tests the metering of OpenAI's own Responses, which pass through with our model name and the cost.
import { type CatalogModel, catalogModel, responsesEvent, ServiceError } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { chatFixture } from '../../../makers/__fixtures__/replayed-chat.ts';
import { fixture } from '../../../makers/__fixtures__/replayed-maker.ts';
import { faultOf } from '../../../makers/failure.ts';
import { UnusableAnswer } from '../../../makers/unusable-answer.ts';
import { sealReasoning } from '../sealed-reasoning.ts';
import { nativeResponses } from './index.ts';

const model: CatalogModel = catalogModel.parse({
  id: 'acme/gpt',
  type: 'language',
  name: 'GPT',
  modalities: { input: ['text'], output: ['text'] },
  supported_parameters: ['tools'],
  pricing: { input_token: '0.000002', cached_input_token: '0.0000002', output_token: '0.000008' },
  upstreams: [{ adapter: 'openai', model: 'gpt-5-mini' }],
});
const REQUEST = Buffer.from('{"model":"acme/gpt","input":"Hi"}');
const inputTokens = () => 12;
const OPENAI = `${import.meta.dirname}/../../../makers/openai`;
const recorded = (name: string) => fixture(OPENAI, `responses-${name}`);
const bytesOf = (name: string) =>
  Buffer.from(chatFixture(OPENAI, `responses-${name}`).base64 ?? '', 'base64');

interface Event {
  type: string;
  sequence_number: number;
  response?: { usage: object | null };
}
const eventsOf = (name: string) => (recorded(name) as unknown as { events: Event[] }).events;
const readEvents = (text: string) =>
  [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => responsesEvent.parse(JSON.parse(data ?? '')) as Event,
  );

describe('a whole answer', () => {
  const finish = (json: unknown) =>
    nativeResponses.finish(model, Buffer.from(JSON.stringify(json)), inputTokens);

  test('keeps all its members but the model, and has the cost of each kind of token', () => {
    const json = recorded('text').json as { usage: object };
    const cached = { ...json, usage: { ...json.usage, input_tokens_details: { cached_tokens: 800 } } };
    const { body, price, basis } = finish(cached);
    // 865 tokens in, of them 800 from the cache; 163 out, of them 128 of reasoning.
    expect(price.costNano).toBe(65n * 2_000n + 800n * 200n + 163n * 8_000n);
    expect(price.quantities).toEqual({ input_tokens: 865, cached_input_tokens: 800, output_tokens: 163 });
    expect(basis).toBe('upstream');
    const usage = { ...cached.usage, cost: Number(price.cost) };
    expect(JSON.parse(body.toString())).toEqual({ ...cached, model: 'acme/gpt', usage });
  });

  test('has one cost, ours, where a gateway adds its own', () => {
    const json = recorded('text').json as { usage: object };
    const text = finish({ ...json, usage: { cost: 0.5, ...json.usage } }).body.toString();
    expect(text.match(/"cost":/g)).toHaveLength(1);
    expect(text).not.toContain('"cost":0.5');
  });

  test.each([
    ['incomplete', 36n * 2_000n + 16n * 8_000n],
    ['refusal', 81n * 2_000n + 11n * 8_000n],
    ['filtered', 0n],
  ])('that is %s is charged as in chat', (name, nanos) => {
    const { body, price } = finish(recorded(name).json);
    expect(price.costNano).toBe(nanos);
    expect(JSON.parse(body.toString())).toMatchObject({ usage: { cost: Number(price.cost) } });
  });

  test('without a usage is estimated', () => {
    const { body, basis } = finish({ ...(recorded('text').json as object), usage: null });
    expect(basis).toBe('estimated');
    expect(JSON.parse(body.toString())).toMatchObject({
      usage: { input_tokens: 12, output_tokens: expect.any(Number) },
    });
  });

  test.each([
    ['empty', ''],
    ['no JSON object', '[]'],
    ['no output', '{"object":"response"}'],
    ['nothing in it', '{"status":"completed","output":[{"type":"message","content":[]}]}'],
    ['response is queued', '{"status":"queued","output":[]}'],
  ])('that is no answer is a failed attempt: %s', (said, body) => {
    const failed = () => nativeResponses.finish(model, Buffer.from(body), inputTokens);
    expect(failed).toThrow(UnusableAnswer);
    expect(failed).toThrow(said);
  });
});

describe('a stream', () => {
  const open = () => nativeResponses.stream(model, REQUEST, inputTokens);
  const pass = (bytes: Buffer, size = 1_000) => {
    const stream = open();
    let out = '';
    for (let at = 0; at < bytes.length; at += size)
      out += stream.push(bytes.subarray(at, at + size))?.toString() ?? '';
    const end = stream.finish();
    return { ...end, text: out + end.last.toString() };
  };
  const cut = (text: string) => Buffer.from(text.slice(0, text.indexOf('event: response.completed')));

  test.each([1, 7, 100_000])('changes only the model and the usage, %d bytes at a time', (size) => {
    const { text, price, basis } = pass(bytesOf('stream'), size);
    // 1,130 in, of them 1,024 from the cache; 59 out, of them 32 of reasoning.
    expect(price.costNano).toBe(106n * 2_000n + 1_024n * 200n + 59n * 8_000n);
    expect(basis).toBe('upstream');
    const expected = eventsOf('stream').map((event) =>
      event.response ? { ...event, response: { ...event.response, model: 'acme/gpt' } } : event,
    );
    const usage = { ...expected.at(-1)?.response?.usage, cost: Number(price.cost) };
    const last = { ...expected.at(-1), response: { ...expected.at(-1)?.response, usage } };
    expect(readEvents(text)).toEqual([...expected.slice(0, -1), last]);
    expect(cut(text).toString()).toBe(
      cut(bytesOf('stream').toString())
        .toString()
        .replaceAll('"model":"gpt-5.1-codex-max"', '"model":"acme/gpt"'),
    );
  });

  test('passes nothing on before the first content, so that a fallback stays possible', () => {
    const stream = open();
    const text = bytesOf('stream').toString();
    const first = text.indexOf('event: response.reasoning_summary_text.delta');
    expect(stream.push(Buffer.from(text.slice(0, first)))).toBeNull();
    expect(stream.forwarded).toBe(false);
    const more = Buffer.from(text.slice(first));
    expect(stream.push(more)?.toString()).toContain('event: response.created');
    expect(stream.forwarded).toBe(true);
  });

  test('passes on a prelude that repeats a large request', () => {
    const instructions = 'x'.repeat(700_000);
    const request = Buffer.from(JSON.stringify({ model: 'acme/gpt', instructions, input: 'Hi' }));
    const stream = nativeResponses.stream(model, request, inputTokens);
    const repeated = bytesOf('stream')
      .toString()
      .replaceAll('"instructions":null', `"instructions":"${instructions}"`);
    stream.push(Buffer.from(repeated));
    expect(stream.finish().basis).toBe('upstream');
  });

  test('that is cut is a failed attempt, which ends with the number after the last event', () => {
    const stream = open();
    const begun = cut(bytesOf('stream').toString());
    stream.push(begun);
    expect(stream.produced().basis).toBe('estimated');
    expect(() => stream.finish()).toThrow(/cut short/);
    const words =
      stream.lastWords(new ServiceError('upstream_error', 'It broke.'), 'req_1')?.toString() ?? '';
    const number = eventsOf('stream').length - 1;
    expect(readEvents(words)).toMatchObject([
      { type: 'error', sequence_number: number, error: { code: 'upstream_error' } },
      {
        type: 'response.failed',
        sequence_number: number + 1,
        response: {
          ...{ id: expect.stringMatching(/^resp_/), model: 'acme/gpt', status: 'failed', usage: null },
          error: { code: 'server_error', message: 'It broke.' },
        },
      },
    ]);
  });

  test('passes on, and repeats when it fails, what the caller wrote, raw or escaped', () => {
    const escaped = (text: string) =>
      text.replaceAll(/"instructions":(null|"[^"]*")/g, '"instructions":"ü \\u4e2d\\u0122"');
    expect(escaped(bytesOf('stream').toString())).toContain('\\u0122');
    const stream = open();
    stream.push(Buffer.from(escaped(cut(bytesOf('stream').toString()).toString())));
    const words = stream.lastWords(new ServiceError('upstream_error', 'It broke.'), 'req_1')?.toString();
    expect(words).toContain('"instructions":"ü 中Ģ"');
  });

  test.each([
    '{"type":"error","sequence_number":1,"error":{"message":"ü \\u4e2d\\u0122"}}',
    '{"type":"response.failed","sequence_number":1,"response":{"error":{"message":"ü \\u4e2d\\u0122"}}}',
  ])('keeps the characters of an error, raw or escaped: %s', (data) => {
    const error = expect.objectContaining({ message: 'ü 中Ģ' });
    expect(() => open().push(Buffer.from(`data: ${data}\n\n`))).toThrow(expect.objectContaining({ error }));
  });

  test.each([
    ['error-stream', 'fault'],
    ['failed-limit', 'rate_limited'],
    ['failed-server', 'fault'],
    ['failed-prompt', 'rejected'],
  ])('that reports an error is a failed attempt: %s is %s', (name, kind) => {
    let thrown: unknown;
    try {
      pass(bytesOf(name));
    } catch (error) {
      thrown = error;
    }
    expect(faultOf(thrown)).toMatchObject({ kind, status: 200 });
  });

  test.each([
    ['max_output_tokens', 36n * 2_000n + 16n * 8_000n],
    ['content_filter', 0n],
  ])('without content that %s ended costs as in chat', (reason, nanos) => {
    const response = {
      ...(recorded('incomplete').json as object),
      output: [],
      incomplete_details: { reason },
    };
    const event = { type: 'response.incomplete', sequence_number: 0, response };
    const { text, price } = pass(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    expect(price.costNano).toBe(nanos);
    expect(readEvents(text)).toMatchObject([{ response: { usage: { cost: Number(price.cost) } } }]);
  });
});

describe('a request', () => {
  const sent = (body: object, supported: string[] = []) => {
    const given = Buffer.from(JSON.stringify(body));
    const prepared = nativeResponses.body(given, { ...model, supported_parameters: supported });
    return JSON.parse(prepared.toString()) as object;
  };

  test('is not stored', () => {
    expect(sent({ model: 'm', input: 'Hi' })).toEqual({ store: false, model: 'm', input: 'Hi' });
    expect(sent({ store: true, input: 'Hi' })).toEqual({ store: false, input: 'Hi' });
  });

  test('asks a reasoning model for its encrypted reasoning', () => {
    const include = ['reasoning.encrypted_content'];
    expect(sent({ input: 'Hi' }, ['reasoning_effort'])).toMatchObject({ include });
    expect(sent({ input: 'Hi', reasoning: { effort: 'low' } })).toMatchObject({ include });
    const asked = { input: 'Hi', include: ['message.input_image.image_url', ...include] };
    expect(sent(asked, ['reasoning_effort'])).toEqual({ ...asked, store: false });
    expect(sent({ input: 'Hi' })).not.toHaveProperty('include');
  });

  test('keeps OpenAI’s reasoning, without that of other makers and of stored items', () => {
    const theirs = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAABpPMlc' };
    const others = [
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: sealReasoning([{ text: 'Hm.' }]) },
      { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: null },
      { type: 'reasoning', id: 'rs_4', summary: [] },
    ];
    const rest = [{ role: 'user', content: 'Hi' }];
    expect(sent({ input: [...others, theirs, ...rest] })).toMatchObject({ input: [theirs, ...rest] });
  });

  test('has no members of other makers’ answers that OpenAI lacks', () => {
    const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' };
    const citation = { type: 'url_citation', url: 'https://a.b', title: 'A', start_index: 0, end_index: 0 };
    const said = (annotations: object[]) => ({
      ...{ type: 'message', role: 'assistant' },
      content: [{ type: 'output_text', text: 'Hi', annotations }],
    });
    const { start_index: _, end_index: __, title: ___, ...bare } = citation;
    const input = [
      { ...call, extra_content: { google: { thought_signature: 'abc' } } },
      said([{ ...citation, content: 'The page.' }, bare]),
    ];
    expect(sent({ input })).toEqual({
      store: false,
      input: [call, said([citation, { ...citation, title: 'https://a.b' }])],
    });
  });

  test('keeps its bytes when OpenAI understands all of it', () => {
    const input =
      '[ {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABpPMlc"} ]';
    const given = Buffer.from(`{"store": false, "input": ${input}}`);
    expect(nativeResponses.body(given, model).toString()).toBe(given.toString());
  });

  test('with chat-only fields is translated', () => {
    expect(nativeResponses.serves({ input: 'Hi', user: 'u', service_tier: 'flex', seed: null })).toBe(true);
    expect(nativeResponses.serves({ input: 'Hi', seed: 7 })).toBe(false);
    expect(nativeResponses.serves({ input: 'Hi', provider_options: {} })).toBe(false);
  });
});

// Tests the metering of Anthropic's own answers, which pass through with our model name and the cost.
import { type CatalogModel, catalogModel, messagesAnswer, messagesEvent } from '@switchyard/contracts';
import { describe, expect, test } from 'vitest';
import { fixture } from '../../../makers/__fixtures__/replayed-maker.ts';
import { ReportedError, UnusableAnswer } from '../../../makers/unusable-answer.ts';
import { sign } from '../thoughts.ts';
import { nativeMessages } from './index.ts';

const model: CatalogModel = catalogModel.parse({
  id: 'acme/claude',
  type: 'language',
  name: 'Claude',
  modalities: { input: ['text'], output: ['text'] },
  pricing: {
    input_token: '0.000003',
    cached_input_token: '0.0000003',
    cache_write_input_token: '0.00000375',
    cache_write_1h_input_token: '0.000006',
    output_token: '0.000015',
  },
  upstreams: [{ adapter: 'anthropic', model: 'claude-sonnet-4-6' }],
});
const REQUEST = Buffer.from(
  '{"model":"acme/claude","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}',
);
const inputTokens = () => 12;

const recorded = (name: string) =>
  fixture(`${import.meta.dirname}/../../../makers/anthropic`, `chat-${name}`);
const eventsOf = (name: string) =>
  (recorded(name) as unknown as { events: { type: string }[] }).events.map(
    (one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`,
  );

describe('a whole answer', () => {
  const finish = (json: unknown) =>
    nativeMessages.finish(model, Buffer.from(JSON.stringify(json)), inputTokens);

  test('keeps all its members but the model, and has the cost of each kind of token', () => {
    const json = recorded('cache-write-1h').json as { usage: object };
    const { body, price, basis } = finish(json);
    // 12 tokens in, 456 written for minutes and 2,000 for an hour, and those out.
    const out = price.quantities.output_tokens ?? 0;
    expect(price.costNano).toBe(12n * 3_000n + 456n * 3_750n + 2_000n * 6_000n + BigInt(out) * 15_000n);
    expect(basis).toBe('upstream');
    expect(JSON.parse(body.toString())).toEqual({
      ...json,
      model: 'acme/claude',
      usage: { ...json.usage, cost: Number(price.cost) },
    });
  });

  test('has one cost, ours, where a gateway adds its own', () => {
    const usage = { input_tokens: 9, cost: 0.5, output_tokens: 5 };
    const { body } = finish({ content: [{ type: 'text', text: 'Hi' }], usage });
    expect(body.toString()).toContain('"usage":{"input_tokens":9,"output_tokens":5,"cost":0.000102}');
  });

  test('without a usage is estimated, and a refusal without content is free', () => {
    const { basis, body } = finish({ content: [{ type: 'text', text: 'Hi' }] });
    expect(basis).toBe('estimated');
    expect(messagesAnswer.shape.usage.parse(JSON.parse(body.toString()).usage)).toMatchObject({
      input_tokens: 12,
      cache_read_input_tokens: 0,
    });
    const refused = finish({
      content: [],
      stop_reason: 'refusal',
      usage: { input_tokens: 9, output_tokens: 1 },
    });
    expect(refused.price.costNano).toBe(0n);
  });

  test('that is an error is a failed attempt', () => {
    const error = { type: 'overloaded_error', message: 'Overloaded' };
    expect(() => finish({ type: 'error', error })).toThrow(ReportedError);
  });

  test('with nothing in it is a failed attempt, unless a limit or a refusal ended it', () => {
    const empty = (reason: string, output_tokens: number) => () =>
      finish({ content: [], stop_reason: reason, usage: { input_tokens: 9, output_tokens } });
    expect(empty('end_turn', 0)).toThrow(UnusableAnswer);
    expect(empty('end_turn', 3)().price.costNano).toBe(9n * 3_000n + 3n * 15_000n);
    expect(empty('max_tokens', 0)().price.costNano).toBe(9n * 3_000n);
  });

  test.each(['', '[]', '{"type":"message"}'])('that is no message is a failed attempt: %s', (body) =>
    expect(() => nativeMessages.finish(model, Buffer.from(body), inputTokens)).toThrow(UnusableAnswer),
  );
});

describe('a stream', () => {
  const pass = (text: string, size: number) => {
    const stream = nativeMessages.stream(model, REQUEST, inputTokens);
    const bytes = Buffer.from(text);
    let out = '';
    for (let at = 0; at < bytes.length; at += size)
      out += stream.push(bytes.subarray(at, at + size))?.toString() ?? '';
    const end = stream.finish();
    return { ...end, text: out + end.last.toString() };
  };

  test.each([1, 7, 100_000])('changes only the model and the usage, %d bytes at a time', (size) => {
    const events = eventsOf('stream');
    const { text, price, basis } = pass(events.join(''), size);
    // 47 in, 300 from the cache, 100 written to it, 373 out.
    expect(price.costNano).toBe(47n * 3_000n + 300n * 300n + 100n * 3_750n + 373n * 15_000n);
    expect(basis).toBe('upstream');
    const passed = text.split('\n\n').filter((event) => event !== '');
    expect(passed).toHaveLength(events.length);
    for (const event of passed) messagesEvent.parse(JSON.parse(event.split('data: ')[1] ?? ''));
    expect(passed[0]).toBe(events[0]?.trimEnd().replace('"claude-sonnet-4-6"', '"acme/claude"'));
    expect(passed.slice(1, -2).join('\n\n')).toBe(events.slice(1, -2).join('').trimEnd());
    const delta = JSON.parse(passed.at(-2)?.split('data: ')[1] ?? '') as { usage: object };
    expect(delta.usage).toMatchObject({ output_tokens: 373, cost: Number(price.cost) });
  });

  test('has one cost, ours, where a gateway adds its own', () => {
    const events = eventsOf('stream')
      .join('')
      .replaceAll('"output_tokens":373', '"cost":0.5,"output_tokens":373');
    const { text } = pass(events, 1_000);
    expect(text.match(/"cost":/g)).toHaveLength(1);
    expect(text).not.toContain('"cost":0.5');
  });

  test('passes nothing on before the first content, so that a fallback stays possible', () => {
    const stream = nativeMessages.stream(model, REQUEST, inputTokens);
    const events = eventsOf('stream');
    const first = events.findIndex((event) => event.includes('content_block_delta'));
    expect(stream.push(Buffer.from(events.slice(0, first).join('')))).toBeNull();
    expect(stream.forwarded).toBe(false);
    expect(stream.push(Buffer.from(events[first] ?? ''))?.toString()).toContain('event: message_start');
    expect(stream.forwarded).toBe(true);
    expect(stream.produced().basis).toBe('estimated');
  });

  test('with nothing in it is a failed attempt', () => {
    const events = eventsOf('stream').filter((event) => !event.includes('content_block'));
    expect(() => pass(events.join('').replaceAll('"output_tokens":373', '"output_tokens":0'), 1_000)).toThrow(
      /without an answer/,
    );
  });

  test('keeps the characters of an error, raw or escaped', () => {
    const data = '{"type":"error","error":{"type":"overloaded_error","message":"ü \\u4e2d\\u0122"}}';
    const error = { type: 'overloaded_error', message: 'ü 中Ģ' };
    expect(() => pass(`event: error\ndata: ${data}\n\n`, 1_000)).toThrow(expect.objectContaining({ error }));
  });

  test('that is cut, or reports an error, is a failed attempt', () => {
    expect(() => pass(eventsOf('stream').slice(0, -1).join(''), 1_000)).toThrow(/cut short/);
    const error = `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Überlast"}}\n\n`;
    expect(() => pass(eventsOf('stream')[0] + error, 1_000)).toThrow(ReportedError);
    expect(() => pass('event: error\ndata: {"message":"Overloaded"}\n\n', 1_000)).toThrow(ReportedError);
  });
});

test('thoughts to be omitted are shown, so that they are counted when a caller leaves early', () => {
  const request = { model: 'm', thinking: { type: 'adaptive', display: 'omitted' }, messages: [] };
  const body = nativeMessages.body(Buffer.from(JSON.stringify(request)), model);
  expect(JSON.parse(body.toString())).toEqual({
    ...request,
    thinking: { type: 'adaptive', display: 'summarized' },
  });
});

test('a request keeps its bytes, without the thoughts of other makers', () => {
  expect(nativeMessages.body(REQUEST, model)).toBe(REQUEST);
  const theirs = { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' };
  const others = [
    { type: 'thinking', thinking: 'Hm.', signature: sign('Hm.', []) },
    { type: 'redacted_thinking', data: sign('', []) },
  ];
  const text = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } };
  const request = (content: object[]) => ({ model: 'm', messages: [{ role: 'assistant', content }] });
  const body = nativeMessages.body(Buffer.from(JSON.stringify(request([...others, theirs, text]))), model);
  expect(JSON.parse(body.toString())).toEqual(request([theirs, text]));
  const called = JSON.stringify(request([...others, text])).replace('"Hi"', '"Hi","id":12345678901234567890');
  expect(nativeMessages.body(Buffer.from(called), model).toString()).toContain('"id":12345678901234567890');
});

test('a message of other makers’ thoughts alone is left out: Anthropic refuses one without content', () => {
  const question = { role: 'user', content: 'Hi' };
  const thoughts = [{ type: 'thinking', thinking: 'Hm.', signature: sign('Hm.', []) }];
  const messages = [question, { role: 'assistant', content: thoughts }, question];
  const body = nativeMessages.body(Buffer.from(JSON.stringify({ model: 'm', messages })), model);
  expect(JSON.parse(body.toString())).toEqual({ model: 'm', messages: [question, question] });
});

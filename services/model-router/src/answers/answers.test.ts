import { type CatalogModel, catalogModel, MODEL_BODY_BYTES_MAX } from '@switchyard/contracts';
import { describe, expect, test, vi } from 'vitest';
import { topLevelMembers } from '../json/json-members.ts';
import { UnusableAnswer } from '../makers/unusable-answer.ts';
import { priceAccepted, type RequestJson } from '../spending/request-price.ts';
import { upstreamBody } from './request-body.ts';
import { SseAnswer } from './sse-answer.ts';
import { finishWholeAnswer } from './whole-answer.ts';

/** CPU milliseconds to find the members of the largest body: 24 measured, 1,100 with `indexOf` alone. */
const SCAN_MS_MAX = 300;

const model: CatalogModel = catalogModel.parse({
  id: 'acme/chat-1',
  type: 'language',
  name: 'Chat 1',
  modalities: { input: ['text'], output: ['text'] },
  pricing: { input_token: '0.00000015', output_token: '0.0000006' },
  upstreams: [{ adapter: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1', model: 'gpt-4o-mini' }],
});

const saying = (content: string) => ({ messages: [{ role: 'user', content }] });
const bytesOf = (request: RequestJson, indent = 0) => Buffer.from(JSON.stringify(request, null, indent));
/** A request of 100 estimated input tokens. */
const REQUEST = bytesOf(saying('x'.repeat(357)));
/** Requests with many more or many fewer bytes than the input tokens that a hold counts. */
const HELD: [name: string, request: RequestJson, indent: number][] = [
  ['a text without blanks, which resembles a file', saying('A'.repeat(1024 * 1024)), 0],
  ['whitespace and metadata', { ...saying('Hi'), metadata: { note: 'a '.repeat(50_000) } }, 10],
];

/** Characters of the longest JSON that is parsed. */
function longestParsed(act: () => void): number {
  using parse = vi.spyOn(JSON, 'parse');
  act();
  return Math.max(...parse.mock.calls.map(([text]) => text.length));
}

const inputHeld = (of: CatalogModel, request: RequestJson) =>
  priceAccepted(of, request).quantities.input_tokens;

describe('the members of a JSON object', () => {
  test('match those of JSON.parse with escapes, nesting and whitespace', () => {
    const text = ' { "a\\"b" : "x\\\\" ,\n"n":-1.5e3,"o":{"a":[1,{"b":"}]"}]},"ü":null, "e":{} ,"t":true}';
    const bytes = Buffer.from(text);
    const found = [...topLevelMembers(bytes)].map(([key, { valueStart, valueEnd }]) => [
      key,
      JSON.parse(bytes.toString('utf8', valueStart, valueEnd)) as unknown,
    ]);
    expect(Object.fromEntries(found)).toEqual(JSON.parse(text));
  });

  test.each([
    '',
    '[]',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":"x',
    '{"a":"x\\"}',
    '{"a":[1,{}',
    '{"a":1,}',
    '{"a" 1}',
    '{a:1}',
  ])('are refused where there is no whole object: %s', (text) =>
    expect(() => topLevelMembers(Buffer.from(text))).toThrow(SyntaxError),
  );

  test('are found quickly in the largest text, even if every second byte escapes a quote', () => {
    const bytes = Buffer.from(`{"input":"${'\\"'.repeat(MODEL_BODY_BYTES_MAX / 2)}"}`);
    const computedMs = () => process.threadCpuUsage().user / 1_000;
    const rounds = [1, 2, 3].map(() => {
      const before = computedMs();
      topLevelMembers(bytes);
      return computedMs() - before;
    });
    expect(Math.min(...rounds)).toBeLessThan(SCAN_MS_MAX);
  });
});

describe('the body for an upstream', () => {
  const change = (body: string, stream = false, outputTokensMax?: number) =>
    upstreamBody(Buffer.from(body), { model: 'gpt-4o-mini', stream, outputTokensMax }).toString();

  test('has each key once, so that an upstream that reads the first of two keys uses the model that we price', () => {
    const twice = change(
      '{"model":"gpt-5-pro","messages":[],"models":["a"],"model":"acme/chat-1","models":["b"],"seed":12345678901234567890}',
    );
    expect(twice).toBe('{"model":"gpt-4o-mini","messages":[],"seed":12345678901234567890}');
  });

  test('asks for as many answers as the hold covers when the caller sends two counts', () =>
    expect(JSON.parse(change('{"model":"acme/chat-1","messages":[],"n":100,"n":1}'))).toMatchObject({
      n: 1,
    }));

  test.each([
    ['{"model":"m","messages":[]}', { max_tokens: 50 }],
    ['{"model":"m","messages":[],"max_completion_tokens":null}', { max_completion_tokens: 50 }],
    [
      '{"model":"m","messages":[],"max_tokens":9,"max_completion_tokens":80}',
      { max_tokens: 9, max_completion_tokens: 50 },
    ],
  ])('has no length above what a budget covers: %s', (body, lengths) => {
    const { model: _model, messages: _messages, ...others } = JSON.parse(change(body, false, 50));
    expect(others).toEqual(lengths);
  });

  test('changes only the model: order, whitespace, numbers and unknown fields stay as written', () => {
    const body =
      '{ "messages" : [{"role":"user","content":"\\u00fc \\"model\\":\\"x\\""}],"model":"acme/chat-1", "big":12345678901234567890,"x":1.0 }';
    expect(change(body)).toBe(body.replace('"acme/chat-1"', '"gpt-4o-mini"'));
  });

  test.each([
    ['{"models":["a","b"],"model":"a","messages":[]}', '{"model":"gpt-4o-mini","messages":[]}'],
    ['{"model":"a","messages":[],"models":["a"]}', '{"model":"gpt-4o-mini","messages":[]}'],
    ['{"model":"a" , "models" : ["a"] , "messages":[]}', '{"model":"gpt-4o-mini" ,  "messages":[]}'],
    ['{"models":["a"],"messages":[]}', '{"model":"gpt-4o-mini","messages":[]}'],
    ['{"messages":[],"models":["a"]}', '{"model":"gpt-4o-mini","messages":[]}'],
  ])('loses our list of fallbacks: %s', (body, expected) => {
    expect(JSON.parse(change(body))).toEqual(JSON.parse(expected));
  });

  test('asks for the usage of a stream, keeping the caller’s other options', () => {
    expect(JSON.parse(change('{"model":"a","stream":true,"messages":[]}', true))).toMatchObject({
      stream_options: { include_usage: true },
    });
    expect(
      JSON.parse(
        change(
          '{"model":"a","stream":true,"stream_options":{"x":1,"include_usage":false},"messages":[]}',
          true,
        ),
      ),
    ).toMatchObject({
      stream_options: { x: 1, include_usage: true },
    });
    expect(
      JSON.parse(change('{"model":"a","stream":true,"stream_options":null,"messages":[]}', true)),
    ).toMatchObject({ stream_options: { include_usage: true } });
  });
});

describe('a whole answer', () => {
  const finish = (body: string) => finishWholeAnswer(model, REQUEST, Buffer.from(body));
  const choices =
    '"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]';

  test('has the cost in its usage and the catalog id as its model, and is otherwise unchanged', () => {
    const { body, price, basis } = finish(
      `{"id":"x","model":"gpt-4o-mini-2024-07-18",${choices},"n":1.0,"usage":{"prompt_tokens":19,"completion_tokens":40,"total_tokens":59}}`,
    );
    expect(body.toString()).toBe(
      `{"id":"x","model":"acme/chat-1",${choices},"n":1.0,"usage":{"prompt_tokens":19,"completion_tokens":40,"total_tokens":59,"cost":0.00002685}}`,
    );
    expect(price.costNano).toBe(26_850n);
    expect(basis).toBe('upstream');
  });

  test('without a token count is estimated, and says so', () => {
    const { body, price, basis } = finish(`{"model":"m",${choices}}`);
    expect(basis).toBe('estimated');
    expect(price.costNano).toBeGreaterThan(0n);
    expect(JSON.parse(body.toString())).toMatchObject({
      usage: { prompt_tokens: 100, cost: Number(price.cost) },
    });
  });

  test.each(HELD)(
    'without a token count is charged the input that its hold counts: %s',
    (_, request, indent) => {
      const answer = Buffer.from(`{"model":"m",${choices}}`);
      const { price } = finishWholeAnswer(model, bytesOf(request, indent), answer);
      expect(price.quantities.input_tokens).toBe(inputHeld(model, request));
    },
  );

  test('without a token count is charged a token for four bytes of its text, as a stream is', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: 'x'.repeat(40) } };
    const message = { role: 'assistant', content: 'ü'.repeat(20), reasoning_content: 'x'.repeat(80) };
    const said = [
      { index: 0, finish_reason: 'stop', message },
      { index: 1, finish_reason: 'tool_calls', message: { content: null, tool_calls: [call] } },
      { index: 2, finish_reason: 'stop', message: { content: [{ type: 'text', text: 'hi' }] } },
    ];
    const { price } = finish(JSON.stringify({ choices: said }));
    const parts = Buffer.byteLength(JSON.stringify([{ type: 'text', text: 'hi' }]));
    expect(price.quantities.output_tokens).toBe(Math.ceil((40 + 80 + 40 + parts) / 4));
  });

  const long = 'x'.repeat(4_000);
  test.each([
    ['reasoning', { content: 'ok', reasoning: long }, 1_001],
    ['reasoning under both names', { reasoning: long, reasoning_content: long }, 1_000],
    ['a function call', { content: null, function_call: { name: 'f', arguments: long } }, 1_000],
    ['a refusal', { content: null, refusal: long }, 1_000],
    ['a tool call without arguments', { tool_calls: [{ id: 'c', function: { name: 'f' } }] }, 1],
    ['an image', { content: '', images: [{ image_url: { url: `data:image/png;base64,${long}` } }] }, 1],
  ])('without a token count is charged for %s', (_what, message, tokens) => {
    const said = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', ...message } }];
    expect(finish(JSON.stringify({ choices: said })).price.quantities.output_tokens).toBe(tokens);
  });

  test('with an impossible token count is estimated, since the ledger could not book the count', () => {
    const { price, basis } = finish(
      `{"model":"m",${choices},"usage":{"prompt_tokens":9007199254740991,"completion_tokens":1}}`,
    );
    expect(basis).toBe('estimated');
    expect(price.quantities.input_tokens).toBe(100);
  });

  test('replaces a cost that the upstream itself reports', () => {
    const { body } = finish(
      `{"model":"m",${choices},"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":99}}`,
    );
    expect(JSON.parse(body.toString())).toMatchObject({ usage: { cost: 0.00000075 } });
  });

  test.each(['END', ['END']])('that begins with a stop sequence is empty, and is charged', (stop) => {
    const empty = choices.replace('"hi"', '""');
    const answer = `{"model":"m",${empty},"usage":{"prompt_tokens":19,"completion_tokens":1}}`;
    expect(() => finish(answer)).toThrow(UnusableAnswer);
    const request = bytesOf({ ...saying('Hi'), stop });
    expect(finishWholeAnswer(model, request, Buffer.from(answer)).price.cost).toBe('0.00000345');
  });

  test.each(['', '{', '[]', 'upstream says hello', '{"choices":[]}', '{"id":"x"}', `{${choices}`])(
    'that cannot be used is a failed attempt: %s',
    (body) => expect(() => finish(body)).toThrow(UnusableAnswer),
  );
});

describe('images', () => {
  const priced = (pricing: object) => catalogModel.parse({ ...model, type: 'image', pricing });
  const byToken = priced({ input_token: '0.000005', output_token: '0.00004' });
  const request = bytesOf({ prompt: 'x'.repeat(400), n: 3 });
  const finish = (of: CatalogModel, usage?: object) => {
    const data = [{ b64_json: 'iVBORw0KGgo' }, { b64_json: 'iVBORw0KGgo' }];
    return finishWholeAnswer(of, request, bytesOf({ created: 1, data, usage }));
  };

  test.each([
    ['no usage', undefined],
    ['no count of the output', { input_tokens: 100 }],
    ['impossible counts', { input_tokens: -1, output_tokens: Number.MAX_SAFE_INTEGER }],
  ])('by the token with %s cost the prompt and the least that an image takes', (_, usage) => {
    const { price, basis, body } = finish(byToken, usage);
    expect(basis).toBe('estimated');
    expect(price.quantities).toEqual({ images: 2, input_tokens: 100, output_tokens: 2 * 272 });
    expect(price.cost).toBe('0.02226');
    expect(JSON.parse(body.toString()).usage).toMatchObject({ output_tokens: 2 * 272, cost: 0.02226 });
  });

  test('with a count, or priced by the image, are charged exactly', () => {
    const counted = finish(byToken, { input_tokens: 10, output_tokens: 0 });
    expect(counted).toMatchObject({ basis: 'upstream', price: { cost: '0.00005' } });
    const byImage = finish(priced({ image: '0.04' }));
    expect(byImage).toMatchObject({ basis: 'upstream', price: { cost: '0.08', quantities: { images: 2 } } });
  });

  test.each([
    [1, {}],
    [1, { n: null }],
    [2, { n: 2 }],
  ])('beyond those requested are neither passed on nor charged: %d of %o', (images, asked) => {
    const data = ['a', 'b', 'c'].map((b64_json) => ({ b64_json }));
    const answer = bytesOf({ created: 1, data });
    const finished = finishWholeAnswer(priced({ image: '0.04' }), bytesOf({ prompt: 'x', ...asked }), answer);
    expect(JSON.parse(finished.body.toString())).toMatchObject({
      data: data.slice(0, images),
      usage: { images },
    });
    expect(finished.price.costNano).toBe(BigInt(images) * 40_000_000n);
  });
});

describe('embeddings', () => {
  const embedder: CatalogModel = catalogModel.parse({
    ...model,
    ...{ type: 'embedding', pricing: { input_token: '0.000001' } },
  });
  const vectors = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      object: 'embedding',
      index,
      embedding: [0.1, [0, '],['], 0.2],
    }));
  const embed = (input: unknown, count: number) =>
    finishWholeAnswer(embedder, bytesOf({ input }), bytesOf({ data: vectors(count) }, 1));

  test.each([
    ['a text', 'rain', 1],
    ['texts', ['rain', 'wind'], 2],
    ['tokens', [1, 2, 3], 1],
    ['lists of tokens', [[1, 2], [3], [4]], 3],
  ])('have one vector for each input: %s', (_what, input, count) => {
    expect(embed(input, count).price.quantities.input_tokens).toBeGreaterThan(0);
    for (const wrong of [count - 1, count + 1]) expect(() => embed(input, wrong)).toThrow(UnusableAnswer);
  });

  test('with a count of tokens do not parse their request, which may have 32 MiB', () => {
    const request = bytesOf({ input: ['x'.repeat(9_999), 'y'] }, 1);
    const answer = bytesOf({ data: vectors(2), usage: { prompt_tokens: 9 } });
    expect(longestParsed(() => finishWholeAnswer(embedder, request, answer))).toBeLessThan(9_999);
  });
});

describe('decisions', () => {
  const decider: CatalogModel = catalogModel.parse({ ...model, type: 'decision' });
  const question = { type: 'boolean', instructions: 'Is it?' };
  const request = bytesOf({ state: 'It rains.', questions: { wet: question, 'a "b"': question } });
  const yes = { type: 'boolean', probability: 0.9 };
  const decide = (answers: unknown) => finishWholeAnswer(decider, request, bytesOf({ answers }));

  test('answer each question', () => {
    expect(decide({ 'a "b"': yes, wet: yes, more: yes }).price.costNano).toBeGreaterThan(0n);
  });

  test.each([[{ wet: yes }], [{ wet: yes, 'a "b"': null }], [[yes, yes]], ['yes']])(
    'that lack a question are a failed attempt: %j',
    (answers) => expect(() => decide(answers)).toThrow(UnusableAnswer),
  );
});

describe('a ranking', () => {
  const ranker: CatalogModel = catalogModel.parse({
    ...model,
    ...{ id: 'acme/rank-1', type: 'rerank', pricing: { search: '0.002' } },
    modalities: { input: ['text'], output: ['ranking'] },
  });
  const rank = (request: object, results: string) =>
    finishWholeAnswer(ranker, Buffer.from(JSON.stringify(request)), Buffer.from(`{"results":${results}}`));
  test('does not parse its request, which may have 32 MiB', () => {
    const request = { query: 'a', documents: ['x'.repeat(9_999), { text: '],[' }, 'z'] };
    expect(longestParsed(() => rank(request, three))).toBeLessThan(9_999);
  });

  const three =
    '[{"index":0,"relevance_score":0.10}, {"index":1,"relevance_score":0.9},{"index":2,"relevance_score":0.5}]';

  test('of an upstream that ignores top_n is cut to the best results, at the price of the search', () => {
    const { body, price } = rank({ query: 'a', documents: ['x', 'y', 'z'], top_n: 2 }, three);
    expect(JSON.parse(body.toString())).toMatchObject({
      model: 'acme/rank-1',
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 2, relevance_score: 0.5 },
      ],
      usage: { searches: 1, cost: 0.002 },
    });
    expect(price.costNano).toBe(2_000_000n);
  });

  test('at a price by the token is charged the input that its hold counts', () => {
    const byTokens = { ...ranker, pricing: { input_token: '0.000001' } };
    const request = {
      query: 'a',
      documents: ['x', 'y'.repeat(10_000), 'z'],
      metadata: { note: 'a '.repeat(999) },
    };
    const answer = Buffer.from(`{"results":${three}}`);
    const { price } = finishWholeAnswer(byTokens, bytesOf(request), answer);
    expect(price.quantities.input_tokens).toBe(inputHeld(byTokens, request));
  });

  test('with an impossible number of searches costs one', () => {
    const counted = `${three},"usage":{"searches":9007199254740991}`;
    expect(rank({ query: 'a', documents: ['x', 'y', 'z'] }, counted).price.quantities).toEqual({
      searches: 1,
    });
  });

  test.each([{ top_n: 3 }, { top_n: null }, {}])(
    'of an upstream that does not sort is sorted, best first: %o',
    (asked) => {
      const { body } = rank({ query: 'a', documents: ['x', 'y', 'z'], ...asked }, three);
      const { results } = JSON.parse(body.toString()) as { results: { index: number }[] };
      expect(results.map(({ index }) => index)).toEqual([1, 2, 0]);
    },
  );

  test.each([
    ['a document that was not sent', '[{"index":3,"relevance_score":0.1}]'],
    ['no place', '[{"relevance_score":0.1}]'],
    ['a document twice', '[{"index":0,"relevance_score":0.2},{"index":0,"relevance_score":0.1}]'],
    ['no score', '[{"index":0,"relevance_score":null}]'],
    ['a word', '["x"]'],
  ])('with %s is a failed attempt', (_what, results) =>
    expect(() => rank({ query: 'a', documents: ['x', 'y', 'z'] }, results)).toThrow(UnusableAnswer),
  );

  test('that is sorted and not too long passes unchanged', () => {
    const sorted =
      '[{"index":1,"relevance_score":0.90}, {"index":0,"relevance_score":0.9},{"index":2,"relevance_score":0}]';
    expect(rank({ query: 'a', documents: ['x', 'y', 'z'] }, sorted).body.toString()).toContain(
      `"results":${sorted}`,
    );
  });
});

describe('a streamed answer', () => {
  const chunk = (content: string, extra = '') =>
    `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]${extra}}`;
  const finished =
    'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}';
  const usage =
    'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-mini-2024-07-18","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":20,"total_tokens":39}}';

  /** Feeds a stream in pieces of `size` bytes; returns what the caller reads. */
  function pass(text: string, size: number, request: Buffer = REQUEST) {
    const answer = new SseAnswer(model, { request, includeUsage: true });
    const bytes = Buffer.from(text);
    let out = '';
    for (let at = 0; at < bytes.length; at += size)
      out += answer.push(bytes.subarray(at, at + size))?.toString() ?? '';
    const { last, price } = answer.finish();
    return { text: out + last.toString(), answer, cost: price.cost };
  }
  const eventsOf = (text: string) => text.split('\n\n').filter((event) => event !== '');

  test.each([1, 7, 64, 100_000])('is the same for any chunk size: %d bytes at a time', (size) => {
    const stream = `${[chunk('Grüße', ',"usage":null'), ': ping', chunk(' 🌍'), finished, usage, 'data: [DONE]'].join('\n\n')}\n\n`;
    const { text, cost } = pass(stream, size);
    const events = eventsOf(text);
    expect(events.slice(0, 4).join('\n\n')).toBe(
      [chunk('Grüße', ',"usage":null'), ': ping', chunk(' 🌍'), finished]
        .join('\n\n')
        .replaceAll('gpt-4o-mini-2024-07-18', 'acme/chat-1'),
    );
    expect(events[4]).toContain(
      '"usage":{"prompt_tokens":19,"completion_tokens":20,"total_tokens":39,"cost":0.00001485}',
    );
    expect(events[4]).toContain('"model":"acme/chat-1"');
    expect(events[5]).toBe('data: [DONE]');
    expect(cost).toBe('0.00001485');
  });

  test.each([1, 3, 50])('with \\r\\n between its events is understood, %d bytes at a time', (size) => {
    const { text } = pass(`${[chunk('a'), finished, usage, 'data: [DONE]'].join('\r\n\r\n')}\r\n\r\n`, size);
    expect(eventsOf(text.replaceAll('\r\n', '\n')).at(-1)).toBe('data: [DONE]');
    expect(text).toContain('"cost":0.00001485');
  });

  const calling = (choice: number, ...pieces: object[]) =>
    chunk('').replace(
      '"index":0,"delta":{"content":""}',
      `"index":${choice},"delta":{"tool_calls":${JSON.stringify(pieces)}}`,
    );
  const whole = (...events: string[]) => `${[...events, finished, 'data: [DONE]'].join('\n\n')}\n\n`;
  const piece = (index: number, id: string | undefined, text: string) => ({
    ...(id
      ? { index, id, function: { name: 'f', arguments: text } }
      : { index, function: { arguments: text } }),
  });

  test('has an index of its own for each parallel call, also from Ollama, which gives all of them 0', () => {
    const stream = whole(
      calling(0, piece(0, 'a', '{"x":'), piece(0, undefined, '"ü"}')),
      calling(0, piece(0, 'b', '{"x":')),
      calling(0, piece(0, undefined, '2}')),
      calling(1, piece(0, 'c', '{}')),
    );
    const events = eventsOf(pass(stream, 1000).text).map((event) => event.slice('data: '.length));
    const calls = events.slice(0, 4).map((event) => {
      const { model: named, choices } = JSON.parse(event) as {
        model: string;
        choices: { delta: { tool_calls: object[] } }[];
      };
      expect(named).toBe('acme/chat-1');
      return choices[0]?.delta.tool_calls;
    });
    expect(calls).toEqual([
      [piece(0, 'a', '{"x":'), piece(0, undefined, '"ü"}')],
      [piece(1, 'b', '{"x":')],
      [piece(1, undefined, '2}')],
      [piece(0, 'c', '{}')],
    ]);
  });

  test.each([
    ['under the index of another one', piece(0, 'b', '"中Ģüü"')],
    ['without an index', { id: 'b', function: { name: '中Ģ', arguments: '"中Ģüü"' } }],
  ])('keeps every character of a call %s, raw or escaped', (_what, call) => {
    // One `ü` is raw, as are the other characters of the text; makers in Python escape all of them.
    const escaped = (text: string) =>
      text.replaceAll(
        /[\u0100-\uffff]|ü(?=ü)/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
    const stream = whole(calling(0, piece(0, 'a', '{}')), escaped(calling(0, call)), chunk('b'));
    const [, event] = eventsOf(pass(stream, 1000).text);
    expect(event).toBe(calling(0, { ...call, index: 1 }).replace('gpt-4o-mini-2024-07-18', 'acme/chat-1'));
  });

  test('keeps the bytes of calls whose indexes differ already, whatever they are', () => {
    const stream = [
      calling(0, piece(1, 'a', '')),
      calling(0, piece(3, 'b', '{}'), piece(1, undefined, '{}')),
    ];
    const { text } = pass(whole(...stream), 1000);
    expect(eventsOf(text).slice(0, 2)).toEqual(
      stream.map((event) => event.replace('gpt-4o-mini-2024-07-18', 'acme/chat-1')),
    );
  });

  test.each(['data:', 'data: '])('with empty data to keep it alive (%j) is read past it', (empty) => {
    const { text, cost } = pass(
      `${[chunk('a'), empty, chunk('b'), finished, usage, 'data: [DONE]'].join('\n\n')}\n\n`,
      40,
    );
    expect(cost).toBe('0.00001485');
    const [first, kept, then] = eventsOf(text);
    expect([first, then].map((event) => /"content":"(.)"/.exec(event ?? '')?.[1])).toEqual(['a', 'b']);
    expect(kept).toBe(':'); // OpenAI's client fails on empty data
  });

  test('with 16 MB in one event is scanned once, not again for each chunk', () => {
    const { text } = pass(
      `${[chunk('a'.repeat(16 * 1024 * 1024)), finished, usage, 'data: [DONE]'].join('\n\n')}\n\n`,
      4_096,
    );
    expect(text.length).toBeGreaterThan(16 * 1024 * 1024);
    expect(eventsOf(text).at(-1)).toBe('data: [DONE]');
  });

  test('passes content on before its usage is known', () => {
    const answer = new SseAnswer(model, { request: REQUEST, includeUsage: true });
    expect(answer.push(Buffer.from(`${chunk('a')}\n\n${chunk('b')}\n\n`))?.toString()).toContain(
      '"content":"b"',
    );
    expect(answer.push(Buffer.from(`${usage}\n\n`))).toBeNull();
    expect(answer.push(Buffer.from('data: [DONE]\n\n'))).toBeNull();
  });

  test('with a running usage in every chunk is passed on at once, and charged by the last usage', () => {
    const running = (n: number) =>
      chunk('x', `,"usage":{"prompt_tokens":10,"completion_tokens":${n},"total_tokens":${10 + n}}`);
    const { text, cost } = pass(
      `${[running(1), running(2), running(3), finished, 'data: [DONE]'].join('\n\n')}\n\n`,
      30,
    );
    expect(eventsOf(text)).toHaveLength(6);
    expect(cost).toBe('0.0000033'); // 10 x 0.15 + 3 x 0.6 micro-dollars
    expect(text).toContain('"cost":0.0000033');
  });

  test('shows a running usage only once, in the end: clients add up what they read', () => {
    const running = (n: number) =>
      chunk('x', `,"usage":{"prompt_tokens":10,"completion_tokens":${n},"cost":99}`);
    const events = [running(1), running(2), running(3), usage.replace('20', '19'), usage, 'data: [DONE]'];
    for (const includeUsage of [true, false]) {
      const answer = new SseAnswer(model, { request: REQUEST, includeUsage });
      const out = answer.push(Buffer.from(`${events.join('\n\n')}\n\n`))?.toString() ?? '';
      const shown = eventsOf(out + answer.finish().last.toString())
        .filter((event) => event.startsWith('data: {'))
        .map((event) => (JSON.parse(event.slice('data: '.length)) as { usage: object | null }).usage);
      expect(shown).toEqual([null, null, ...(includeUsage ? [null] : []), COSTED]);
    }
  });

  test.each(['{}', '{"prompt_tokens":-1}', '{"prompt_tokens":"10","completion_tokens":1.5}'])(
    'with a usage that cannot be charged shows the estimate that it is charged by: %s',
    (unusable) => {
      const last = usage.replace(/"usage":.*/, `"usage":${unusable}}`);
      const { text } = pass(`${[chunk('a'), finished, last, 'data: [DONE]'].join('\n\n')}\n\n`, 1000);
      const shown = JSON.parse(eventsOf(text).at(-2)?.slice('data: '.length) ?? '') as { usage: object };
      expect(shown.usage).toEqual({
        ...{ prompt_tokens: 100, completion_tokens: 3, total_tokens: 103 },
        cost: expect.any(Number),
      });
    },
  );

  test('without a usage is estimated and gets a usage event from us', () => {
    const { text } = pass(`${[chunk('a'), chunk('b'), finished, 'data: [DONE]'].join('\n\n')}\n\n`, 1000);
    const last = JSON.parse(eventsOf(text).at(-2)?.slice('data: '.length) ?? '') as object;
    expect(last).toMatchObject({
      id: 'c1',
      model: 'acme/chat-1',
      choices: [],
      usage: { prompt_tokens: 100, completion_tokens: 3 },
    });
  });

  test('has the usage in its last chunk when the caller asked for no usage chunk: every chunk has a choice', () => {
    const answer = new SseAnswer(model, { request: REQUEST, includeUsage: false });
    const stream = [chunk('a'), finished, ': ping', usage, 'data: [DONE]'].join('\n\n');
    const out =
      (answer.push(Buffer.from(`${stream}\n\n`))?.toString() ?? '') + answer.finish().last.toString();
    const events = eventsOf(out).filter((event) => event.startsWith('data: {'));
    const chunks = events.map(
      (event) => JSON.parse(event.slice('data: '.length)) as { choices: object[]; usage?: object },
    );
    expect(chunks).toHaveLength(2);
    expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      usage: { prompt_tokens: 19, completion_tokens: 20, total_tokens: 39, cost: 0.00001485 },
    });
    expect(out.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  const COUNT = { prompt_tokens: 19, completion_tokens: 20, total_tokens: 39 };
  const COSTED = { ...COUNT, cost: 0.00001485 };
  /** Last chunks with a usage below their top level. */
  const NESTED: [maker: string, last: Record<string, unknown>][] = [
    ['Moonshot', { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: COUNT }] }],
    [
      'Groq',
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], x_groq: { id: 'req_1', usage: COUNT } },
    ],
  ];

  test.each(NESTED)('has the cost in its own usage where the maker nests one: %s', (_maker, last) => {
    const nested = `data: ${JSON.stringify({ id: 'c1', model: 'gpt-4o-mini-2024-07-18', ...last })}`;
    const read = (events: string[], includeUsage = false) => {
      const answer = new SseAnswer(model, { request: REQUEST, includeUsage });
      answer.push(Buffer.from(`${[chunk('a'), ...events, 'data: [DONE]'].join('\n\n')}\n\n`));
      const { last: end, price, basis } = answer.finish();
      expect([price.cost, basis]).toEqual(['0.00001485', 'upstream']);
      return eventsOf(end.toString())
        .filter((event) => event.startsWith('data: {'))
        .map((event) => JSON.parse(event.slice('data: '.length)) as object);
    };
    expect(read([nested])).toEqual([{ id: 'c1', model: 'acme/chat-1', ...last, usage: COSTED }]);
    expect(read([nested, usage])).toEqual([{ id: 'c1', model: 'acme/chat-1', ...last, usage: COSTED }]);
    expect(read([nested, usage], true)).toMatchObject([last, { choices: [], usage: COSTED }]);
  });

  test('over several lines of data has the cost in its own usage', () => {
    const lines = usage.replaceAll(/,"(choices|usage)"/g, ',\ndata: "$1"');
    const { text } = pass(`${[chunk('a'), finished, lines, 'data: [DONE]'].join('\n\n')}\n\n`, 1000);
    const last = eventsOf(text).at(-2)?.replaceAll('data:', '') ?? '';
    expect(JSON.parse(last)).toMatchObject({ choices: [], usage: COSTED });
  });

  test('that ends before a token count charges an image as one image, not by its base64', () => {
    const url = `data:image/png;base64,${'A'.repeat(4_000_000)}`;
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
    const request = Buffer.from(JSON.stringify({ messages }));
    const answer = new SseAnswer(model, { request, includeUsage: false });
    answer.push(Buffer.from(`${chunk('a')}\n\n`));
    const { price, basis } = answer.produced();
    expect(basis).toBe('estimated');
    expect(price.quantities.input_tokens).toBeLessThan(2_000);
  });

  test.each(HELD)(
    'that ends before a token count is charged the input that its hold counts: %s',
    (_, request, indent) => {
      const answer = new SseAnswer(model, { request: bytesOf(request, indent), includeUsage: false });
      answer.push(Buffer.from(`${chunk('a')}\n\n`));
      expect(answer.produced().price.quantities.input_tokens).toBe(inputHeld(model, request));
    },
  );

  test.each([
    ['text', (text: string) => `"content":"${text}"`],
    ['a refusal', (text: string) => `"refusal":"${text}"`],
    ['reasoning', (text: string) => `"reasoning_content":"${text}"`],
    ['a call of a tool', (text: string) => `"tool_calls":[{"index":0,"function":{"arguments":"${text}"}}]`],
  ])('left after one event with 4,000 characters of %s is charged for all of them', (_what, delta) => {
    const answer = new SseAnswer(model, { request: REQUEST, includeUsage: false });
    const event = chunk('').replace('"content":""', delta('x'.repeat(4_000)));
    answer.push(Buffer.from(`${event}\n\n`));
    expect(answer.produced().price.quantities.output_tokens).toBe(1_000);
  });

  test('holds no content back: a finish reason that is not the last is passed on with the next chunk', () => {
    const answer = new SseAnswer(model, { request: REQUEST, includeUsage: false });
    expect(answer.push(Buffer.from(`${chunk('a')}\n\n${finished}\n\n`))?.toString()).not.toContain('"stop"');
    expect(answer.push(Buffer.from(`${chunk('b')}\n\n`))?.toString()).toMatch(/"stop"[\s\S]*"content":"b"/);
  });

  test('whose first event omits the model has our name from the first event with a model', () => {
    const role = { id: 'c1', choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] };
    const stream = [`data: ${JSON.stringify(role)}`, chunk('a'), finished, 'data: [DONE]'].join('\n\n');
    const { text } = pass(`${stream}\n\n`, 40);
    expect(text).toContain('"content":"a"');
    expect(text).not.toContain('gpt-4o-mini');
  });

  test('without a model in its first event, as from Azure, has our name from the first event with a model', () => {
    const azure =
      'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[]}';
    const { text } = pass(`${[azure, chunk('a'), finished, 'data: [DONE]'].join('\n\n')}\n\n`, 40);
    expect(text).not.toContain('gpt-4o-mini');
    expect(text).toContain('"id":"c1"');
  });

  test('of Azure, whose filter reports that it did not run, is an answer', () => {
    const error = { code: 'content_filter_error', message: 'The contents are not filtered' };
    const prompt = { choices: [], prompt_filter_results: [{ content_filter_results: { error } }] };
    const unfiltered = chunk('a').replace(
      '"delta"',
      `"content_filter_result":${JSON.stringify({ error })},"delta"`,
    );
    const events = [`data: ${JSON.stringify(prompt)}`, unfiltered, finished, usage, 'data: [DONE]'];
    const { text, cost } = pass(`${events.join('\n\n')}\n\n`, 1000);
    expect(text).toContain('"content":"a"');
    expect(cost).toBe('0.00001485');
  });

  const second = chunk('b').replace('"index":0', '"index":1');

  test.each([
    ['one choice', [chunk('a'), finished]],
    ['two choices', [chunk('a'), second, finished, finished.replace('"index":0', '"index":1')]],
    ['a chunk after the end', [chunk('a'), finished, chunk('')]],
  ])('with a finish reason but no [DONE] is complete, and ends in [DONE]: %s', (_what, events) => {
    expect(pass(`${events.join('\n\n')}\n\n`, 1000).text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  const asked = (n: number | null) => bytesOf({ ...saying('Hi'), n });
  const isWhole = (request: Buffer, ...events: string[]) => {
    try {
      return pass(`${events.join('\n\n')}\n\n`, 1000, request).text.endsWith('data: [DONE]\n\n');
    } catch (error) {
      expect(error).toBeInstanceOf(UnusableAnswer);
      return false;
    }
  };

  test('is cut without [DONE] until each choice that was asked for has ended, begun or not', () => {
    const both = [chunk('a'), second, finished, finished.replace('"index":0', '"index":1')];
    expect(isWhole(asked(2), chunk('a'), finished)).toBe(false);
    expect(isWhole(asked(2), ...both)).toBe(true);
    expect(isWhole(asked(null), chunk('a'), finished)).toBe(true);
    expect(isWhole(asked(2), chunk('a'), finished, 'data: [DONE]')).toBe(true); // a server that ignores `n`
  });

  test('has one choice under the index 0, null and none', () => {
    const none = finished.replace('"index":0,', '');
    const isNull = chunk('a').replace('"index":0', '"index":null');
    expect(isWhole(REQUEST, isNull, none)).toBe(true);
    const [first, then] = [calling(0, piece(0, 'a', '{}')), calling(0, piece(0, 'b', '{}'))];
    const { text } = pass(
      whole(first.replace('"index":0,', ''), then.replace('"index":0', '"index":null')),
      1000,
    );
    expect(eventsOf(text)[1]).toContain('"index":1,"id":"b"');
  });

  test.each(['data: [DONE]', 'data: [DONE]\n', 'data:[DONE]\r\n'])(
    'has ended with %j, without a blank line',
    (done) => {
      const answer = new SseAnswer(model, { request: REQUEST, includeUsage: true });
      answer.push(Buffer.from(`${chunk('a')}\n\n${finished}\n\n${done}`));
      expect(answer.ended).toBe(true);
      expect(answer.finish().last.toString().endsWith('}\n\ndata: [DONE]\n\n')).toBe(true);
    },
  );

  test('has its cost in an event of its own after a comment that was cut short', () => {
    const { text } = pass(`${chunk('a')}\n\ndata: [DONE]\n\n: bye`, 1000);
    const events = eventsOf(text);
    expect(events.at(-3)).toBe(': bye');
    expect(events.at(-2)).toMatch(/^data: .*"cost":/);
  });

  test('passes nothing on before its first token, and everything with that token', () => {
    const answer = new SseAnswer(model, { request: REQUEST, includeUsage: true });
    const role = chunk('').replace(
      '"content":""',
      '"role":"assistant","content":"","refusal":null,"tool_calls":[]',
    );
    expect(answer.push(Buffer.from(`: connected\n\n${role}\n\n`))).toBeNull();
    expect(answer.push(Buffer.from(': keep-alive\n\n'))).toBeNull();
    expect(answer.forwarded).toBe(false);
    const out = answer.push(Buffer.from(`${chunk('a')}\n\n`))?.toString() ?? '';
    expect(answer.forwarded).toBe(true);
    expect(eventsOf(out)).toEqual([
      ': connected',
      role.replace('gpt-4o-mini-2024-07-18', 'acme/chat-1'),
      ': keep-alive',
      chunk('a').replace('gpt-4o-mini-2024-07-18', 'acme/chat-1'),
    ]);
  });

  test.each([
    ['a call of a tool', '"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]'],
    ['reasoning', '"reasoning_content":"Hm"'],
    ['a refusal in words', '"refusal":"No"'],
    ['a sound', '"audio":{"data":"AAAA"}'],
  ])('has begun with %s', (_what, delta) => {
    const answer = new SseAnswer(model, { request: REQUEST, includeUsage: true });
    const event = chunk('').replace('"content":""', delta);
    expect(answer.push(Buffer.from(`${event}\n\n`))?.toString()).toContain(delta);
  });

  test('that the caller’s own limit ended before its first word is an answer, and is charged', () => {
    const limited = finished.replace('"stop"', '"length"');
    const { text, cost } = pass(`${[chunk(''), limited, usage, 'data: [DONE]'].join('\n\n')}\n\n`, 1000);
    expect(text).toContain('"finish_reason":"length"');
    expect(cost).toBe('0.00001485');
  });

  test('that begins with a stop sequence of the caller is an answer, and is charged', () => {
    const request = bytesOf({ ...saying('Hi'), stop: ['END'] });
    const answer = new SseAnswer(model, { request, includeUsage: true });
    answer.push(Buffer.from(`${[chunk(''), finished, usage, 'data: [DONE]'].join('\n\n')}\n\n`));
    const { last, price } = answer.finish();
    expect(last.toString()).toContain('"finish_reason":"stop"');
    expect(price.cost).toBe('0.00001485');
  });

  const said = '{"message":"ü \\u4e2d\\u0122"}';
  test.each([
    `data: {"error":${said}}`,
    `event: error\ndata: ${said}`,
    `data: {"choices":[{"index":0,"error":${said}}]}`,
  ])('keeps the characters of an error, raw or escaped: %j', (event) => {
    const error = { message: 'ü 中Ģ' };
    expect(() => pass(`${event}\n\n`, 1000)).toThrow(expect.objectContaining({ error }));
  });

  test.each([
    ['is cut', `${chunk('a')}\n\n${chunk('b').slice(0, 40)}`],
    ['is cut between events', `${chunk('a')}\n\n`],
    ['is cut after the end of one of two choices', `${chunk('a')}\n\n${finished}\n\n${second}\n\n`],
    ['is empty', ''],
    ['ends before it begins', 'data: [DONE]\n\n'],
    ['is no event stream', '<html>busy</html>\n\n'],
    ['has no JSON in it', 'data: {"choices":[\n\ndata: [DONE]\n\n'],
    [
      'reports an error as a member of a chunk',
      `${chunk('a')}\n\ndata: {"id":"c1","error":{"message":"overloaded"},"choices":[{"finish_reason":"error"}]}\n\ndata: [DONE]\n\n`,
    ],
    [
      'reports an error in a choice',
      `${chunk('a')}\n\n${chunk('b').replace('"index":0', '"index":0,"error":{"message":"overloaded"}')}\n\ndata: [DONE]\n\n`,
    ],
    [
      'reports an error beside its choices',
      `${chunk('a')}\n\ndata: {"id":"c1","choices":[],"x_groq":{"id":"req_1","error":"over capacity"}}\n\ndata: [DONE]\n\n`,
    ],
    ['has no token in it', `${chunk('')}\n\n${finished}\n\n${usage}\n\ndata: [DONE]\n\n`],
    ['has an event that is no JSON', `${chunk('a')}\n\ndata: {nonsense}\n\n${finished}\n\ndata: [DONE]\n\n`],
    ['names an event an error', `${chunk('a')}\n\nevent: error\ndata: {"message":"overloaded"}\n\n`],
    ['reports an error', `${chunk('a')}\n\ndata: {"error":{"message":"overloaded"}}\n\n`],
  ])('that %s cannot be used, and never ends in [DONE]', (_what, stream) => {
    expect(() => pass(stream, 1000)).toThrow(UnusableAnswer);
  });
});

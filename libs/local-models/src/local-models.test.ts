import { describe, expect, it } from 'vitest';
import { OUTPUT_TOKENS_MAX } from './chat/chat-request.ts';
import { createLocalModels, type LocalCall } from './local-models.ts';
import { countTokens } from './text/tokens.ts';

const NOW = Date.parse('2026-11-21T02:30:00Z');
const models = createLocalModels({ now: () => NOW });

interface Choice {
  index: number;
  finish_reason: string | null;
  message: {
    content: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  };
  delta: {
    content?: string | null;
    tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
  };
}

interface Answered {
  status: number;
  contentType: string;
  text: string;
}

async function call(overrides: Partial<Omit<LocalCall, 'body'>> & { body: unknown }): Promise<Answered> {
  const body =
    overrides.body instanceof Uint8Array
      ? overrides.body
      : new TextEncoder().encode(JSON.stringify(overrides.body));
  const signal = new AbortController().signal;
  const base: LocalCall = { type: 'language', model: 'chat', body, stream: false, signal };
  const answer = await models.answer({ ...base, ...overrides, body });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body) text += decoder.decode(chunk, { stream: true });
  return { status: answer.status, contentType: answer.contentType, text };
}

interface Completion {
  choices: Choice[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

async function chat(messages: unknown[] | string, more: Record<string, unknown> = {}): Promise<Completion> {
  const said = typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages;
  const { status, text } = await call({ body: { model: 'local/chat', messages: said, ...more } });
  expect(status, text).toBe(200);
  return JSON.parse(text);
}

async function say(messages: unknown[] | string): Promise<string | null | undefined> {
  return (await chat(messages)).choices[0]?.message.content;
}

async function refused(body: unknown, more: Partial<LocalCall> = {}) {
  const { status, text } = await call({ body, ...more });
  return { status, ...JSON.parse(text).error } as {
    status: number;
    message: string;
    param: string | null;
    code: string;
  };
}

const weatherTool = {
  type: 'function',
  function: {
    name: 'get_current_weather',
    description: 'Get the current weather in a given location',
    parameters: {
      type: 'object',
      properties: {
        location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
        unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
      },
      required: ['location'],
    },
  },
};
const mailTool = {
  type: 'function',
  function: {
    name: 'send_email',
    description: 'Sends an e-mail message',
    parameters: {
      type: 'object',
      properties: { to: { type: 'string', format: 'email' }, body: { type: 'string' } },
      required: ['to', 'body'],
    },
  },
};

describe('local/chat', () => {
  it.each([
    ['What is 6*7?', '6*7 = 42'],
    ['What time is it?', 'It is 02:30 UTC on Saturday, 21 November 2026.'],
    ['What day is 2026-12-25?', '2026-12-25 is Friday, 25 December 2026.'],
    ['Reply with exactly: pong', 'pong'],
    ['Count to 5', '1, 2, 3, 4, 5'],
    ['Hello, I am Ada', 'Hello, Ada! What can I do for you?'],
  ])('answers %j', async (said, answer) => {
    expect(await say(said)).toBe(answer);
  });

  it('says what it is, and when it has no rule', async () => {
    expect(await say('Who are you?')).toContain('a small rule-based model');
    expect(await say('Write a haiku about rivers')).toMatch(/no rule for .*haiku.*rule-based/s);
  });

  it('recalls what was said earlier by any participant', async () => {
    const talk = [
      { role: 'system', content: 'The warehouse closes at 18:00. Parcels go out on Mondays.' },
      { role: 'user', content: 'My dog is called Rex and my cat is called Mia.' },
      { role: 'assistant', content: 'Noted.' },
    ];
    expect(await say([...talk, { role: 'user', content: 'What is my dog called?' }])).toContain('Rex');
    expect(await say([...talk, { role: 'user', content: 'When does the warehouse close?' }])).toContain(
      '18:00',
    );
    expect(await say([...talk, { role: 'user', content: 'What is the capital of Peru?' }])).toContain(
      'no rule',
    );
  });

  it('notes the type and size of an image', async () => {
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const content = [
      { type: 'text', text: 'What is in this picture?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
    ];
    expect(await say([{ role: 'user', content }])).toContain('one image: 70 bytes image/png');
  });

  it('counts tokens by its own tokenizer', async () => {
    const { choices, usage } = await chat('What is 6*7?');
    expect(usage.completion_tokens).toBe(countTokens(choices[0]?.message.content ?? ''));
    expect(usage.prompt_tokens).toBe(countTokens('What is 6*7?') + 4);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });

  it('keeps to max_tokens, stop and n', async () => {
    const cut = await chat('Count to 50', { max_tokens: 5 });
    expect(cut.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '1, 2, 3' } });
    expect(cut.usage.completion_tokens).toBe(5);
    const stopped = await chat('Count to 50', { stop: ['4', '9'] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: '1, 2, 3, ' } });
    const thrice = await chat('Say hello', { n: 3, seed: 7, temperature: 1.5 });
    expect(thrice.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'hello'],
      [1, 'hello'],
      [2, 'hello'],
    ]);
    expect(thrice.usage.completion_tokens).toBe(6);
  });

  it('answers no longer than the catalog’s maximum', async () => {
    const { choices, usage } = await chat('Repeat ! 40000 times', { max_tokens: 40_000 });
    expect([choices[0]?.finish_reason, usage.completion_tokens]).toEqual(['length', OUTPUT_TOKENS_MAX]);
  });

  it('takes a message of many megabytes', async () => {
    const { usage } = await chat(`${'lorem ipsum '.repeat(200_000)} What is 2+2?`);
    expect(usage.prompt_tokens).toBeGreaterThan(800_000);
  });
});

describe("local/chat's stream", () => {
  it('comes word by word, then the usage in a last chunk without choices, then [DONE]', async () => {
    const body = { model: 'local/chat', messages: [{ role: 'user', content: 'Count to 5' }], stream: true };
    const { contentType, text } = await call({ body, stream: true });
    expect(contentType).toContain('text/event-stream');
    const events = text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => event.replace(/^data: /, ''));
    expect(events.pop()).toBe('[DONE]');
    const chunks = events.map((event) => JSON.parse(event) as Completion & { object: string });
    expect(chunks.pop()).toMatchObject({ choices: [], usage: { completion_tokens: 9 } });
    expect(chunks.every(({ object }) => object === 'chat.completion.chunk')).toBe(true);
    expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''))).toEqual([
      '',
      '1,',
      ' 2,',
      ' 3,',
      ' 4,',
      ' 5',
      '',
    ]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('ends with the reason when the caller goes away', async () => {
    const client = new AbortController();
    const body = new TextEncoder().encode(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Count to 500' }] }),
    );
    const answer = await models.answer({
      type: 'language',
      model: 'chat',
      body,
      stream: true,
      signal: client.signal,
    });
    const chunks = answer.body[Symbol.asyncIterator]();
    expect((await chunks.next()).done).toBe(false);
    client.abort(new Error('the caller is gone'));
    await expect(chunks.next()).rejects.toThrow('the caller is gone');
  });
});

describe("local/chat's tool calls", () => {
  const ask = [{ role: 'user', content: 'What is the weather like in Boston today, in celsius?' }];
  const tools = [mailTool, weatherTool];

  it('calls the tool that the message is about, with arguments from the message', async () => {
    const { choices } = await chat(ask, { tools });
    expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(calls).toHaveLength(1);
    expect(calls[0]?.function.name).toBe('get_current_weather');
    expect(JSON.parse(calls[0]?.function.arguments ?? '')).toEqual({ location: 'Boston', unit: 'celsius' });
  });

  const text = { type: 'string' };
  const toolbox = Object.entries({
    search_flights: {
      origin: text,
      destination: text,
      date: { type: 'string', format: 'date' },
      passengers: { type: 'integer' },
    },
    lookup_order: { order_id: text },
    calculator: { expression: text },
    add: { a: { type: 'number' }, b: { type: 'number' } },
    create_user: { name: text, email: { type: 'string', format: 'email' }, age: { type: 'integer' } },
  }).map(([name, properties]) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties, required: Object.keys(properties) } },
  }));

  it.each([
    [
      'Find flights from Oslo to New York on 2026-12-24 for 2 passengers',
      'search_flights',
      { origin: 'Oslo', destination: 'New York', date: '2026-12-24', passengers: 2 },
    ],
    ['Where is my order A-1234?', 'lookup_order', { order_id: 'A-1234' }],
    ['What is 12*(3+4)?', 'calculator', { expression: '12*(3+4)' }],
    ['Add 3 and 4', 'add', { a: 3, b: 4 }],
    [
      'Create a user named Ada Lovelace, 36 years old, ada@example.org',
      'create_user',
      { name: 'Ada Lovelace', email: 'ada@example.org', age: 36 },
    ],
  ])('picks among many for %j', async (said, name, args) => {
    const calls = (await chat(said, { tools: toolbox })).choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
      [name, args],
    ]);
  });

  it('reports the tool’s result in the next turn', async () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'get_current_weather', arguments: '{"location":"Boston"}' },
    };
    const turn = [
      ...ask,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '{"temperature": 7, "sky": "grey"}' },
    ];
    expect((await chat(turn, { tools })).choices[0]?.message.content).toBe(
      'get_current_weather says: temperature: 7; sky: grey',
    );
  });

  it('honours tool_choice', async () => {
    expect((await chat(ask, { tools, tool_choice: 'none' })).choices[0]?.message.tool_calls).toBeUndefined();
    expect((await chat('Hello', { tools })).choices[0]?.message.tool_calls).toBeUndefined();
    expect(
      (await chat('Hello', { tools, tool_choice: 'required' })).choices[0]?.message.tool_calls,
    ).toHaveLength(1);
    const named = { type: 'function', function: { name: 'send_email' } };
    const { choices } = await chat('Tell bob@example.org "see you at eight"', { tools, tool_choice: named });
    expect(JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '')).toEqual({
      to: 'bob@example.org',
      body: 'see you at eight',
    });
    const unknown = { type: 'function', function: { name: 'fly' } };
    expect(await refused({ model: 'm', messages: ask, tools, tool_choice: unknown })).toMatchObject({
      param: 'tool_choice',
    });
  });

  it('streams a call as OpenAI does: its head, then its arguments', async () => {
    const { text } = await call({ body: { model: 'm', messages: ask, tools, stream: true }, stream: true });
    const deltas = text
      .split('\n\n')
      .filter((event) => event.startsWith('data: {'))
      .flatMap((event) => (JSON.parse(event.slice(6)) as Completion).choices)
      .flatMap(({ delta }) => delta.tool_calls ?? []);
    expect(deltas[0]).toMatchObject({
      index: 0,
      id: expect.stringMatching(/^call_/),
      function: { name: 'get_current_weather' },
    });
    const joined = deltas.map((delta) => delta.function.arguments).join('');
    expect(JSON.parse(joined)).toEqual({ location: 'Boston', unit: 'celsius' });
  });
});

describe("local/chat's structured output", () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      date: { type: 'string' },
      participants: { type: 'array', items: { type: 'string' } },
    },
    required: ['name', 'date', 'participants'],
    additionalProperties: false,
  };

  it('fills a json_schema', async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'event', strict: true, schema } };
    const { choices } = await chat('name: Science Fair, date: Friday. Participants: Alice and Bob.', {
      response_format,
    });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({
      name: 'Science Fair',
      date: 'Friday',
      participants: ['Alice', 'Bob'],
    });
  });

  it('finds the schema that a client put into the system message', async () => {
    const messages = [
      {
        role: 'system',
        content: `JSON schema:\n${JSON.stringify({ type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] })}\nYou MUST answer with JSON.`,
      },
      { role: 'user', content: 'What is 6*7?' },
    ];
    const { choices } = await chat(messages, { response_format: { type: 'json_object' } });
    expect(choices[0]?.message.content).toBe('{"answer":42}');
  });

  it('finds the schema in the question too, and does not take it for what was said', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const content = `I live in Oslo. Answer in JSON of this schema: ${JSON.stringify(schema)}`;
    const { choices } = await chat(content, { response_format: { type: 'json_object' } });
    expect(choices[0]?.message.content).toBe('{"city":"Oslo"}');
  });

  it('makes an object of its answer where there is no schema', async () => {
    const { choices } = await chat('What is 6*7?', { response_format: { type: 'json_object' } });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ answer: '6*7 = 42' });
  });

  it('refuses a schema that it cannot satisfy, with 400', async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema: { not: {} } } };
    const error = await refused({ model: 'm', messages: [{ role: 'user', content: 'x' }], response_format });
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: expect.stringContaining('"not"'),
    });
  });
});

describe('local/embed', () => {
  const embed = async (body: Record<string, unknown>) => {
    const { status, text } = await call({
      type: 'embedding',
      model: 'embed',
      body: { model: 'local/embed', ...body },
    });
    expect(status, text).toBe(200);
    return JSON.parse(text) as {
      data: { index: number; embedding: number[] | string }[];
      usage: { prompt_tokens: number };
    };
  };

  it('gives one vector for each input, in order, and counts their tokens', async () => {
    const { data, usage } = await embed({ input: ['one text', 'another'] });
    expect(data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 256],
      [1, 256],
    ]);
    expect(usage.prompt_tokens).toBe(countTokens('one text') + countTokens('another'));
  });

  it('gives the same numbers in base64 as in floats, at the dimensions asked for', async () => {
    const floats = (await embed({ input: 'hello', dimensions: 64 })).data[0]?.embedding as number[];
    const base64 = (await embed({ input: 'hello', dimensions: 64, encoding_format: 'base64' })).data[0]
      ?.embedding;
    const bytes = Buffer.from(base64 as string, 'base64');
    expect(Array.from({ length: 64 }, (_, index) => bytes.readFloatLE(index * 4))).toEqual(
      floats.map(Math.fround),
    );
  });

  it('takes token ids, alone and in lists', async () => {
    const [alone] = (await embed({ input: [1, 2, 3] })).data;
    const listed = (await embed({ input: [[1, 2, 3], [4]] })).data;
    expect(listed[0]?.embedding).toEqual(alone?.embedding);
    expect(listed[1]?.embedding).not.toEqual(alone?.embedding);
  });

  it('refuses what is over its limits, naming the field', async () => {
    const over = (body: Record<string, unknown>) =>
      refused({ model: 'm', ...body }, { type: 'embedding', model: 'embed' });
    expect(await over({ input: 'x', dimensions: 5_000 })).toMatchObject({ status: 400, param: 'dimensions' });
    expect(await over({ input: 'word '.repeat(9_000) })).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    });
    expect(await over({})).toMatchObject({ status: 400, param: 'input' });
  });
});

describe('a bad request', () => {
  it('is answered with a code, never with an exception', async () => {
    const message = { role: 'user', content: 'x' };
    expect(await refused(new TextEncoder().encode('{"a":'))).toMatchObject({
      status: 400,
      code: 'invalid_json',
    });
    expect(await refused({ model: 'm' })).toMatchObject({ status: 400, param: 'messages' });
    expect(
      await refused({ model: 'm', messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }),
    ).toMatchObject({
      status: 400,
    });
    expect(await refused({ model: 'm', messages: [message] }, { model: 'nonesuch' })).toMatchObject({
      status: 404,
    });
    expect(await refused({ model: 'm', messages: [message] }, { type: 'video' })).toMatchObject({
      code: 'model_not_found',
    });
  });
});

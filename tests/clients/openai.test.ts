// The official `openai` client, unchanged, against upstream-backed and local models.
import { spawnSync } from 'node:child_process';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ClientStack,
  chatCost,
  costOf,
  FAILING,
  localChatCost,
  startClientStack,
} from './client-stack.ts';

let clientStack: ClientStack;
let client: OpenAI;

beforeAll(async () => {
  clientStack = await startClientStack();
  client = new OpenAI({ baseURL: clientStack.baseURL, apiKey: clientStack.key, maxRetries: 0 });
});
afterAll(() => clientStack?.stop());

const hello = [{ role: 'user' as const, content: 'Hello!' }];
const HELLO_ANSWER = 'Hello! How can I assist you today?';

const weatherParameters = {
  type: 'object',
  properties: { location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' } },
  required: ['location'],
};
const weatherTool = {
  type: 'function' as const,
  function: {
    name: 'get_current_weather',
    description: 'Get the current weather in a given location',
    parameters: weatherParameters,
  },
};

describe('chat.completions.create', () => {
  it('gives the upstream’s answer with its cost, under our name', async () => {
    const answer = await client.chat.completions.create({ model: 'acme/chat-1', messages: hello });
    expect(answer.choices[0]?.message.content).toBe(HELLO_ANSWER);
    expect(answer.model).toBe('acme/chat-1');
    expect(costOf(answer.usage)).toBeCloseTo(chatCost(19, 10), 12);
    expect(answer._request_id).toMatch(/^req_/);
  });

  it('gives local answers with their cost', async () => {
    const answer = await client.chat.completions.create({
      model: 'local/chat',
      messages: [{ role: 'user', content: 'What is 6*7?' }],
    });
    expect(answer.choices[0]?.message.content).toBe('6*7 = 42');
    expect(answer.model).toBe('local/chat');
    const { prompt_tokens = 0, completion_tokens = 0 } = answer.usage ?? {};
    expect(costOf(answer.usage)).toBeCloseTo(localChatCost(prompt_tokens, completion_tokens), 12);
  });

  it('passes images, n and structured output to the upstream untouched', async () => {
    const content = [
      { type: 'text' as const, text: 'What is in this image?' },
      { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ];
    const answer = await client.chat.completions.create({
      model: 'acme/chat-1',
      n: 2,
      messages: [{ role: 'user', content }],
    });
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(answer.choices[0]?.message.content).toContain('boardwalk');
    expect(clientStack.upstream.requests.at(-1)?.json?.messages).toEqual([{ role: 'user', content }]);
  });

  it.each([
    ['acme/chat-1', 'Alice and Bob are going to a science fair on Friday.'],
    ['local/chat', 'name: Science Fair, date: Friday. Participants: Alice and Bob.'],
  ])('fills a schema with %s', async (model, content) => {
    const strings = { type: 'array', items: { type: 'string' } };
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, date: { type: 'string' }, participants: strings },
      required: ['name', 'date', 'participants'],
      additionalProperties: false,
    };
    const answer = await client.chat.completions.parse({
      model,
      messages: [{ role: 'user', content }],
      response_format: { type: 'json_schema', json_schema: { name: 'event', strict: true, schema } },
    });
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({
      name: 'Science Fair',
      date: 'Friday',
      participants: ['Alice', 'Bob'],
    });
  });

  it('falls back to the next model of `models`', async () => {
    const body = { model: FAILING[500], models: ['local/chat'], messages: hello };
    const answer = await client.chat.completions.create(body);
    expect(answer.model).toBe('local/chat');
    expect(answer.choices[0]?.message.content).toContain('Hello!');
  });
});

describe('streaming', () => {
  it.each([
    ['acme/chat-1', 'Hello!', HELLO_ANSWER],
    ['local/chat', 'Count to 5', '1, 2, 3, 4, 5'],
  ])(
    '%s: create({ stream: true }) gives the text in pieces, the cost in the last chunk',
    async (model, content, text) => {
      const stream = await client.chat.completions.create({
        model,
        messages: [{ role: 'user', content }],
        stream: true,
      });
      const pieces: string[] = [];
      const usages: unknown[] = [];
      for await (const chunk of stream) {
        const piece = chunk.choices[0]?.delta.content;
        if (piece) pieces.push(piece);
        usages.push(chunk.usage);
      }
      expect(pieces.join('')).toBe(text);
      expect(pieces.length).toBeGreaterThan(3);
      expect(costOf(usages.at(-1))).toBeGreaterThan(0);
      expect(usages.slice(0, -1).every((usage) => usage === null || usage === undefined)).toBe(true);
    },
  );

  it.each([
    ['acme/chat-1', HELLO_ANSWER],
    ['local/chat', 'Hello! What can I do for you?'],
  ])('%s: the .stream() helper gives content and assembles the whole', async (model, text) => {
    const stream = client.chat.completions.stream({
      model,
      messages: hello,
      stream_options: { include_usage: true },
    });
    let streamed = '';
    stream.on('content', (delta) => {
      streamed += delta;
    });
    const completion = await stream.finalChatCompletion();
    expect(streamed).toBe(text);
    expect(completion.choices[0]?.message.content).toBe(text);
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(costOf(completion.usage)).toBeGreaterThan(0);
  });

  it.each(['acme/chat-1', 'local/chat'])('%s: tool calls are assembled from pieces', async (model) => {
    const completion = await client.chat.completions
      .stream({
        model,
        messages: [{ role: 'user', content: 'What is the weather like in Boston, MA?' }],
        tools: [weatherTool],
      })
      .finalChatCompletion();
    const [call] = completion.choices[0]?.message.tool_calls ?? [];
    expect(call?.type === 'function' && call.function.name).toBe('get_current_weather');
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({
      location: 'Boston, MA',
    });
  });

  it('throws when a stream ends in an error event', async () => {
    const stream = await client.chat.completions.create({
      model: 'acme/breaks-off',
      messages: hello,
      stream: true,
    });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError);
  });

  it('stops the upstream when the client leaves the stream', async () => {
    const stream = await client.chat.completions.create({
      model: 'acme/endless',
      messages: hello,
      stream: true,
    });
    for await (const _ of stream) break;
    expect(await (await clientStack.upstream.request('endless+gap-20+megabytes-64')).over).toBe('cut');
  });
});

describe('runTools', () => {
  it.each([
    ['acme/chat-1', HELLO_ANSWER],
    ['local/chat', 'get_current_weather says: temperature: 21; unit: celsius'],
  ])('%s: calls the function and ends with an answer', async (model, text) => {
    const asked: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model,
      messages: [{ role: 'user', content: 'What is the weather like in Boston, MA?' }],
      tools: [
        {
          type: 'function',
          function: {
            ...weatherTool.function,
            parse: JSON.parse,
            function: (input: unknown) => {
              asked.push(input);
              return { temperature: 21, unit: 'celsius' };
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe(text);
    expect(asked).toEqual([{ location: 'Boston, MA' }]);
    for (const completion of runner.allChatCompletions()) expect(costOf(completion.usage)).toBeGreaterThan(0);
  });
});

describe('completions.create (legacy)', () => {
  it.each([
    ['acme/chat-1', 'Hello!', HELLO_ANSWER],
    ['local/chat', 'What is 6*7?', '6*7 = 42'],
  ])('%s: gives the text and its cost, whole and streamed', async (model, prompt, text) => {
    const whole = await client.completions.create({ model, prompt: [prompt], max_tokens: 50 });
    expect(whole).toMatchObject({ object: 'text_completion', model });
    expect(whole.choices).toEqual([{ index: 0, text, logprobs: null, finish_reason: 'stop' }]);
    expect(costOf(whole.usage)).toBeGreaterThan(0);
    let pieces = '';
    let usage: unknown;
    for await (const chunk of await client.completions.create({ model, prompt, stream: true })) {
      expect(chunk.object).toBe('text_completion');
      pieces += chunk.choices[0]?.text ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(pieces).toBe(text);
    expect(costOf(usage)).toBe(costOf(whole.usage));
  });

  it('has one line in Logs with its dialect, path and cost', async () => {
    const { data, response } = await client.completions
      .create({ model: 'acme/chat-1', prompt: 'Hello!' })
      .withResponse();
    const url = `${clientStack.baseURL}/logs/${response.headers.get('x-request-id')}`;
    const line = async () =>
      (await fetch(url, { headers: { authorization: `Bearer ${clientStack.key}` } })).json();
    await expect
      .poll(line)
      .toMatchObject({ dialect: 'completions', path: '/v1/completions', cost: costOf(data.usage) });
  });

  it('refuses what chat models cannot do, naming the field', async () => {
    const failed = client.completions.create({ model: 'local/chat', prompt: 'a', suffix: 'c' });
    await expect(failed).rejects.toMatchObject({ status: 400, param: 'suffix', code: 'invalid_request' });
  });
});

describe('moderations.create', () => {
  it('is not found, and the error names what to use', async () => {
    const failed = client.moderations.create({ input: 'a text' });
    await expect(failed).rejects.toMatchObject({ status: 404, code: 'route_not_found' });
    await expect(failed).rejects.toThrow('/v1/decisions');
  });
});

describe('embeddings.create', () => {
  it('asks for base64 by default and gives numbers', async () => {
    const result = await client.embeddings.create({ model: 'acme/embed-1', input: ['one', 'two'] });
    expect(clientStack.upstream.requests.at(-1)?.json).toMatchObject({
      encoding_format: 'base64',
      input: ['one', 'two'],
    });
    const recorded = [0.0023064255, -0.009327292, -0.0028842222].map(Math.fround);
    expect(result.data[0]?.embedding).toEqual(recorded);
    expect(result.data[1]?.embedding).toEqual([recorded[1], recorded[2], recorded[0]]);
    expect(costOf(result.usage)).toBeCloseTo((8 * 20) / 1e9, 12);
  });

  it('gives the same local vector in base64 as in floats, of the dimensions asked for', async () => {
    const ask = { model: 'local/embed', input: 'a text', dimensions: 128 };
    const [byDefault, asFloats] = await Promise.all([
      client.embeddings.create(ask),
      client.embeddings.create({ ...ask, encoding_format: 'float' }),
    ]);
    expect(byDefault.data[0]?.embedding).toHaveLength(128);
    expect(byDefault.data[0]?.embedding).toEqual(asFloats.data[0]?.embedding.map(Math.fround));
    expect(costOf(byDefault.usage)).toBeGreaterThan(0);
  });
});

describe('images.generate', () => {
  it('says that images do not stream', async () => {
    const ask = { model: 'local/image', prompt: 'a boat', stream: true } as const;
    await expect(client.images.generate(ask)).rejects.toThrow('images do not stream');
  });

  it('gives as many PNGs as were asked for, of the size asked for, with their cost', async () => {
    const result = await client.images.generate({
      model: 'local/image',
      prompt: 'a green hill under a yellow sun',
      n: 2,
      size: '512x512',
    });
    expect(result.data).toHaveLength(2);
    for (const { b64_json = '' } of result.data ?? []) {
      const png = Buffer.from(b64_json, 'base64');
      expect(png.subarray(1, 4).toString()).toBe('PNG');
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([512, 512]);
    }
    expect(costOf(result.usage)).toBe(0.001);
  });
});

const missing = (...programs: string[]) =>
  programs.some((program) => spawnSync(program, ['-version']).error !== undefined);

describe.skipIf(missing('espeak-ng', 'ffmpeg'))('audio.speech.create', () => {
  it.each([
    ['wav', 'audio/wav', 'RIFF'],
    ['mp3', 'audio/mpeg', ''],
    ['opus', 'audio/ogg; codecs=opus', 'OggS'],
  ] as const)(
    'gives %s, recognized by its type and its first bytes, with the cost in a header',
    async (...given) => {
      const [format, type, magic] = given;
      const response = await client.audio.speech.create({
        model: 'local/speech',
        voice: 'alloy',
        input: 'one two three',
        response_format: format,
      });
      expect(response.headers.get('content-type')).toBe(type);
      expect(response.headers.get('x-service-cost')).toBe('0.000013');
      const sound = Buffer.from(await response.arrayBuffer());
      expect(sound.subarray(0, magic.length).toString('latin1')).toBe(magic);
      expect(sound.length).toBeGreaterThan(1_000);
    },
  );
});

describe.skipIf(missing('espeak-ng', 'ffmpeg', 'pocketsphinx_batch'))('audio.transcriptions.create', () => {
  const spoken = async () => {
    const wanted = { model: 'local/speech', voice: 'alloy', response_format: 'wav' } as const;
    const sound = await client.audio.speech.create({ ...wanted, input: 'seven three nine one' });
    return toFile(await sound.arrayBuffer(), 'digits.wav');
  };
  const DIGITS = /^\W*(seven|7)\W*(three|3)\W*(nine|9)\W*(one|1)\W*$/i;

  it('understands spoken digits, with the cost of the seconds that the file has', async () => {
    const answer = await client.audio.transcriptions.create({
      model: 'local/transcribe',
      file: await spoken(),
    });
    expect(answer.text).toMatch(DIGITS);
    // Without its type the Python client takes it for a count of tokens.
    if (answer.usage?.type !== 'duration') throw new Error('the usage is not a duration');
    const { seconds } = answer.usage;
    expect(seconds).toBeGreaterThan(1);
    expect(costOf(answer.usage)).toBeCloseTo((seconds * 0.0006) / 60, 8);
  });

  it('gives segments in verbose_json, and gives text, SRT and VTT as text', async () => {
    const ask = { model: 'local/transcribe', file: await spoken() };
    const verbose = await client.audio.transcriptions.create({ ...ask, response_format: 'verbose_json' });
    expect(verbose.segments?.map(({ text }) => text).join(' ')).toMatch(DIGITS);
    expect(verbose.duration).toBeGreaterThan(1);
    expect(await client.audio.transcriptions.create({ ...ask, response_format: 'text' })).toMatch(DIGITS);
    expect(await client.audio.transcriptions.create({ ...ask, response_format: 'srt' })).toMatch(
      /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/,
    );
    expect(await client.audio.transcriptions.create({ ...ask, response_format: 'vtt' })).toMatch(/^WEBVTT\n/);
  });
});

describe('files', () => {
  it('are stored, listed, read and deleted', async () => {
    const content = Buffer.from('city,inhabitants\nUlm,126000\n');
    const stored = await client.files.create({
      file: await toFile(content, 'cities.csv', { type: 'text/csv' }),
      purpose: 'user_data',
      expires_after: { anchor: 'created_at', seconds: 3_600 },
    });
    expect(stored).toMatchObject({ object: 'file', filename: 'cities.csv', bytes: content.length });
    expect(await client.files.retrieve(stored.id)).toEqual(stored);
    expect(Math.abs(stored.created_at - Date.now() / 1000)).toBeLessThan(3_600);
    expect(stored.expires_at).toBe(stored.created_at + 3_600);
    const ids: string[] = [];
    for await (const { id } of client.files.list()) ids.push(id);
    expect(ids).toEqual([stored.id]);
    const read = await client.files.content(stored.id);
    expect(read.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(Buffer.from(await read.arrayBuffer())).toEqual(content);
    expect(await client.files.delete(stored.id)).toMatchObject({ id: stored.id, deleted: true });
    await expect(client.files.retrieve(stored.id)).rejects.toThrow(OpenAI.NotFoundError);
  });
});

describe('models', () => {
  it('are listed and found by their ids', async () => {
    const listed = new Map<string, OpenAI.Model>();
    for await (const model of client.models.list()) listed.set(model.id, model);
    expect([...listed.keys()]).toEqual(
      expect.arrayContaining(['acme/chat-1', 'acme/video-1', 'local/chat', 'local/embed']),
    );
    expect(listed.get('acme/chat-1')).toMatchObject({ object: 'model', owned_by: 'acme', type: 'language' });
    expect(await client.models.retrieve('local/chat')).toEqual(listed.get('local/chat'));
  });
});

describe('errors are the client’s own classes', () => {
  const failure = async (call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
    const error = await call.then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!(error instanceof OpenAI.APIError))
      throw new Error('it did not fail with an APIError', { cause: error });
    return error;
  };
  const ask = (model: string, by = client) => failure(by.chat.completions.create({ model, messages: hello }));

  it('400 for a model of another type, naming the right endpoint', async () => {
    const error = await ask('acme/embed-1');
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: 'wrong_endpoint', param: 'model', type: 'invalid_request_error' });
    expect(error.message).toContain('POST /v1/embeddings');
    expect(error.requestID).toMatch(/^req_/);
  });

  it('401 for a wrong key', async () => {
    const stranger = new OpenAI({ baseURL: clientStack.baseURL, apiKey: 'sy_wrong', maxRetries: 0 });
    expect(await ask('local/chat', stranger)).toBeInstanceOf(OpenAI.AuthenticationError);
  });

  it('403 for a key without the permission', async () => {
    const made = await client.post<{ key: string }>('/keys', {
      body: { name: 'reader', permissions: ['usage:read'] },
    });
    const reader = new OpenAI({ baseURL: clientStack.baseURL, apiKey: made.key, maxRetries: 0 });
    const error = await ask('local/chat', reader);
    expect(error).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(error.message).toContain('models:write');
  });

  it('404 for an unknown model', async () => {
    const error = await ask('acme/nonesuch');
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error.code).toBe('model_not_found');
  });

  it.each([
    [FAILING[429], OpenAI.RateLimitError, 429],
    [FAILING[500], OpenAI.InternalServerError, 502],
    [FAILING[503], OpenAI.InternalServerError, 502],
  ])(
    '%s: an upstream error, and no retry once every upstream has failed',
    async (model, errorClass, status) => {
      const patient = new OpenAI({
        baseURL: clientStack.baseURL,
        apiKey: clientStack.key,
        maxRetries: status === 429 ? 0 : 2,
      });
      const before = clientStack.upstream.requests.length;
      const error = await ask(model, patient);
      expect(error).toBeInstanceOf(errorClass);
      expect(error.status).toBe(status);
      expect(clientStack.upstream.requests.length - before).toBe(1);
    },
  );
});

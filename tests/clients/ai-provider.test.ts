// Our own provider of Vercel's AI SDK, through the functions that its users call, against local models and the bill.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSwitchyard, type SwitchyardProvider } from '@switchyard/ai-provider';
import { EMBEDDING_INPUTS_MAX } from '@switchyard/contracts';
import type { UpstreamRequest } from '@switchyard/testing';
import {
  APICallError,
  experimental_decide as decide,
  embed,
  embedMany,
  generateImage,
  generateObject,
  generateSpeech,
  generateText,
  experimental_generateVideo as generateVideo,
  isStepCount,
  type JSONValue,
  Output,
  rerank,
  streamText,
  tool,
  transcribe,
} from 'ai';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { SILENT_SECOND } from '../__fixtures__/silent-second.ts';
import { untilBooked } from '../__fixtures__/until-booked.ts';
import { type ClientStack, chatCost, localChatCost, startClientStack } from './client-stack.ts';

let clientStack: ClientStack;
let switchyard: SwitchyardProvider;
let hook: Hook;

beforeAll(async () => {
  hook = await startHook();
  clientStack = await startClientStack({
    SWITCHYARD_EGRESS_ALLOW: new URL(hook.url).host,
    ANTHROPIC_API_KEY: 'sk-ant-ours',
    GOOGLE_GENERATIVE_AI_API_KEY: 'ours',
  });
  switchyard = createSwitchyard({ baseURL: clientStack.baseURL, apiKey: clientStack.key });
});
afterAll(async () => {
  await clientStack?.stop();
  hook?.close();
});

/** Receives the webhook at the end of a video job. */
interface Hook {
  url: string;
  /** The first delivery. */
  received: Promise<{ headers: Record<string, string>; body: JSONValue }>;
  close: () => void;
}

async function startHook(): Promise<Hook> {
  const first = Promise.withResolvers<Awaited<Hook['received']>>();
  const server = createServer(async (request, response) => {
    const pieces = await request.toArray().catch(() => null);
    if (pieces === null) return; // a delivery that breaks off is repeated
    const body = JSON.parse(Buffer.concat(pieces).toString()) as JSONValue;
    response.end();
    first.resolve({ headers: request.headers as Record<string, string>, body });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, received: first.promise, close: () => server.close() };
}

const metadataWithCost = z.looseObject({ switchyard: z.looseObject({ cost: z.number().positive() }) });

/** The cost in `providerMetadata`. */
function costOf(metadata: unknown): number {
  return metadataWithCost.parse(metadata).switchyard.cost;
}

interface Log {
  cost: number;
  status: string;
  requested_model: string;
}

/** The latest calls, as Logs has them. */
async function latestLogs(model: string, limit: number): Promise<Log[]> {
  await untilBooked(clientStack.stack.url, clientStack.key);
  const path = `/logs?limit=${limit}&model=${encodeURIComponent(model)}`;
  const response = await fetch(clientStack.baseURL + path, {
    headers: { authorization: `Bearer ${clientStack.key}` },
  });
  return ((await response.json()) as { data: Log[] }).data;
}

async function latestLog(model: string): Promise<Log> {
  const [log] = await latestLogs(model, 1);
  if (!log) throw new Error(`no log of ${model}`);
  return log;
}

describe('language', () => {
  it('generateText answers, and reports its cost', async () => {
    const { text, usage, providerMetadata } = await generateText({
      model: switchyard('local/chat'),
      prompt: 'What is 6*7?',
    });
    expect(text).toBe('6*7 = 42');
    const { inputTokens = 0, outputTokens = 0 } = usage;
    expect(costOf(providerMetadata)).toBeCloseTo(localChatCost(inputTokens, outputTokens), 12);
    expect((await latestLog('local/chat')).cost).toBe(costOf(providerMetadata));
  });

  it('streamText streams, and has the cost at the end', async () => {
    const result = streamText({ model: switchyard('local/chat'), prompt: 'Count to 5' });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    expect(pieces.join('')).toBe('1, 2, 3, 4, 5');
    expect(pieces.length).toBeGreaterThan(3);
    expect(costOf(await result.providerMetadata)).toBeGreaterThan(0);
  });

  it('tools are called, and each step has its cost', async () => {
    const { text, steps } = await generateText({
      model: switchyard('local/chat'),
      prompt: 'What is the weather like in Boston, MA?',
      tools: {
        get_current_weather: tool({
          description: 'Get the current weather in a given location',
          inputSchema: z.object({ location: z.string().describe('The city and state') }),
          execute: async ({ location }) => ({ location, temperature: 21 }),
        }),
      },
      stopWhen: isStepCount(3),
    });
    expect(text).toContain('temperature: 21');
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    for (const { providerMetadata } of steps) expect(costOf(providerMetadata)).toBeGreaterThan(0);
  });

  const schema = z.object({ name: z.string(), date: z.string(), participants: z.array(z.string()) });
  const event = { name: 'Science Fair', date: 'Friday', participants: ['Alice', 'Bob'] };
  const prompt = 'name: Science Fair, date: Friday. Participants: Alice and Bob.';

  it('generateObject and Output.object fill a schema', async () => {
    const model = switchyard.languageModel('local/chat');
    expect((await generateObject({ model, schema, prompt })).object).toEqual(event);
    expect((await generateText({ model, output: Output.object({ schema }), prompt })).output).toEqual(event);
  });

  it('falls back on the models of providerOptions.switchyard, and the one that answered is charged', async () => {
    const { response, usage, providerMetadata } = await generateText({
      model: switchyard('acme/broken'),
      providerOptions: { switchyard: { models: ['acme/chat-1'] } },
      prompt: 'Hello!',
    });
    expect(response.modelId).toBe('acme/chat-1');
    const { inputTokens = 0, outputTokens = 0 } = usage;
    expect(costOf(providerMetadata)).toBeCloseTo(chatCost(inputTokens, outputTokens), 12);
    expect(await latestLog('acme/chat-1')).toMatchObject({ status: 'ok', requested_model: 'acme/broken' });
  });
});

describe('signed reasoning', () => {
  const FIXTURES = join(import.meta.dirname, '../../services/model-router/src/makers');
  const recorded = (path: string) =>
    JSON.parse(readFileSync(join(FIXTURES, path), 'utf8')) as { json?: object; events?: object[] };
  const events = (all: readonly object[]) =>
    all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const tools = {
    weather: tool({ inputSchema: z.object({ place: z.string() }), execute: async () => 'rain' }),
  };
  const asked = { tools, stopWhen: isStepCount(2), prompt: 'The weather in Oslo and Rome?' };

  /** The answers to the two steps: calls of tools with signed reasoning, then text. Returns the second request. */
  function twoSteps(upstreamModel: string, ...answers: string[]): Promise<UpstreamRequest> {
    const second = Promise.withResolvers<UpstreamRequest>();
    clientStack.upstream.on(upstreamModel, (request, response) => {
      if (answers.length === 1) second.resolve(request);
      const answer = answers.shift() ?? '';
      const contentType = answer.startsWith('data:') ? 'text/event-stream' : 'application/json';
      response.writeHead(200, { 'content-type': contentType }).end(answer);
    });
    return second.promise;
  }
  const whole = (path: string) => JSON.stringify(recorded(path).json);
  const streamed = (path: string) => events(recorded(path).events ?? []);

  const THINKING = [
    { type: 'thinking', thinking: 'Two places.', signature: 'c2lnbmVk' },
    { type: 'redacted_thinking', data: 'aGlkZGVu' },
  ];
  const CALL = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { place: 'Oslo' } };
  const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_sequence: null };
  const usage = { input_tokens: 9, output_tokens: 9 };
  const thoughtful = { ...HEAD, content: [...THINKING, CALL], stop_reason: 'tool_use', usage };
  const thoughtfulEvents = [
    { type: 'message_start', message: { ...HEAD, content: [], stop_reason: null, usage } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Two places.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: THINKING[1] },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { ...CALL, input: {} } },
    {
      type: 'content_block_delta',
      index: 2,
      delta: { type: 'input_json_delta', partial_json: '{"place":"Oslo"}' },
    },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];

  it('of Claude goes back with the results of its tools', async () => {
    const second = twoSteps(
      'claude',
      JSON.stringify(thoughtful),
      whole('anthropic/__fixtures__/chat-text.json'),
    );
    const { reasoningText } =
      (await generateText({ ...asked, model: switchyard('acme/claude') })).steps[0] ?? {};
    expect(reasoningText).toBe('Two places.');
    expect((await second).json).toMatchObject({ messages: [{}, { content: [...THINKING, CALL] }, {}] });
  });

  it('of Claude goes back from a stream', async () => {
    const second = twoSteps(
      'claude',
      events(thoughtfulEvents),
      streamed('anthropic/__fixtures__/chat-stream.json'),
    );
    await streamText({ ...asked, model: switchyard('acme/claude') }).consumeStream();
    expect((await second).json).toMatchObject({ messages: [{}, { content: [...THINKING, CALL] }, {}] });
  });

  // Google's requests name the model in the path, and none in the body.
  it('of Gemini goes back with its calls', async () => {
    const first = whole('google/__fixtures__/chat-tool-calls.json');
    const second = twoSteps('', first, whole('google/__fixtures__/chat-text.json'));
    await generateText({ ...asked, model: switchyard('acme/gemini') });
    const signature = expect.stringMatching(/^AY89/);
    expect((await second).json).toMatchObject({
      contents: [{}, { parts: [{ thoughtSignature: signature }, {}] }, {}],
    });
  });

  it('of Gemini goes back from a stream', async () => {
    const first = streamed('google/__fixtures__/chat-tool-calls-stream.json');
    const second = twoSteps('', first, streamed('google/__fixtures__/chat-stream.json'));
    await streamText({ ...asked, model: switchyard('acme/gemini') }).consumeStream();
    const signature = expect.stringMatching(/^Esw/);
    expect((await second).json).toMatchObject({
      contents: [{}, { parts: [{ thoughtSignature: signature }, {}] }, {}],
    });
  });
});

describe('embeddings', () => {
  it('embedMany places similar texts together', async () => {
    const { embeddings, usage, providerMetadata } = await embedMany({
      model: switchyard.embeddingModel('local/embed'),
      values: ['heavy rain and strong wind', 'a strong wind with rain', 'bake the bread in an oven'],
    });
    const [rain, wind, bread] = embeddings;
    expect(cosine(rain, wind)).toBeGreaterThan(cosine(rain, bread) + 0.2);
    expect(usage.tokens).toBeGreaterThan(0);
    expect((await latestLog('local/embed')).cost).toBe(costOf(providerMetadata));
  });

  it('embedMany with more texts than a request may have reports the total cost', async () => {
    const values = Array.from({ length: EMBEDDING_INPUTS_MAX + 1 }, (_, index) => `text ${index}`);
    const model = switchyard.embeddingModel('local/embed');
    const { embeddings, usage, providerMetadata } = await embedMany({ model, values });
    const [last, first] = await latestLogs('local/embed', 2);
    expect(Math.round(costOf(providerMetadata) * 1e9)).toBe(
      Math.round(((last?.cost ?? 0) + (first?.cost ?? 0)) * 1e9),
    );
    expect(usage.tokens).toBeGreaterThan(values.length);
    const { embedding } = await embed({ model, value: values.at(-1) ?? '' });
    expect(cosine(embeddings.at(-1), embedding)).toBeCloseTo(1, 5);
  });

  it.each([
    ['base64, which is shorter', {}, 'string'],
    ['numbers', { encoding_format: 'float' }, 'object'],
  ])('embed reads a vector in %s', async (_form, options, type) => {
    const { embedding, response } = await embed({
      model: switchyard.embeddingModel('local/embed'),
      value: 'rain',
      providerOptions: { switchyard: options },
    });
    const body = response?.body as { data: { embedding: unknown }[] };
    expect(typeof body.data[0]?.embedding).toBe(type);
    const answered = await fetch(`${clientStack.baseURL}/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientStack.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/embed', input: 'rain' }),
    });
    const { data } = (await answered.json()) as { data: { embedding: number[] }[] };
    expect(embedding.map(Math.fround)).toEqual(data[0]?.embedding.map(Math.fround));
  });

  it('embed takes dimensions by the options', async () => {
    const { embedding } = await embed({
      model: switchyard.embeddingModel('local/embed'),
      value: 'rain',
      providerOptions: { switchyard: { dimensions: 64 } },
    });
    expect(embedding).toHaveLength(64);
  });
});

it('generateImage gives PNGs of the requested size, whose cost shares add up to the cost', async () => {
  const { images, providerMetadata } = await generateImage({
    model: switchyard.imageModel('local/image'),
    prompt: 'three red circles',
    n: 3,
    size: '128x64',
  });
  expect(images.map(({ mediaType }) => mediaType)).toEqual(Array(3).fill('image/png'));
  for (const { uint8Array } of images) {
    const png = Buffer.from(uint8Array);
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([128, 64]);
  }
  const shares = z
    .array(z.object({ cost: z.number() }))
    .parse(providerMetadata.switchyard?.images)
    .map(({ cost }) => Math.round(cost * 1e9));
  expect(shares).toHaveLength(3);
  expect(shares.reduce((sum, share) => sum + share, 0)).toBe(
    Math.round((await latestLog('local/image')).cost * 1e9),
  );
});

const has = (program: string) => !spawnSync(program, ['-version']).error;
const withSpeech = has('espeak-ng');
const withTranscription = withSpeech && has('pocketsphinx_batch') && has('ffmpeg');
const withVideo = has('ffmpeg') && has('ffprobe');

test.skipIf(!withSpeech)('generateSpeech gives the sound in the format asked for', async () => {
  const { audio, providerMetadata } = await generateSpeech({
    model: switchyard.speechModel('local/speech'),
    text: 'one two three',
    voice: 'alloy',
    outputFormat: 'wav',
  });
  expect(audio.mediaType).toBe('audio/wav');
  expect(Buffer.from(audio.uint8Array).subarray(0, 4).toString()).toBe('RIFF');
  expect(costOf(providerMetadata)).toBe(0.000013);
});

test.skipIf(!withTranscription)('transcribe understands the digits that generateSpeech says', async () => {
  const { audio } = await generateSpeech({
    model: switchyard.speechModel('local/speech'),
    text: 'seven three nine one',
    voice: 'alloy',
    outputFormat: 'wav',
  });
  const { text, segments, language, durationInSeconds, providerMetadata } = await transcribe({
    model: switchyard.transcriptionModel('local/transcribe'),
    audio: audio.uint8Array,
  });
  expect(text.toLowerCase().match(/seven|three|nine|one|[7391]/g)).toEqual(
    expect.toSatisfy((words: string[]) => ['seven three nine one', '7 3 9 1'].includes(words.join(' '))),
  );
  expect(language).toBe('en');
  expect(durationInSeconds).toBeGreaterThan(1);
  expect(segments[0]?.endSecond).toBeLessThanOrEqual((durationInSeconds ?? 0) + 0.1);
  expect((await latestLog('local/transcribe')).cost).toBe(costOf(providerMetadata));
});

describe('transcribe with a model that reports no times', () => {
  const model = () => switchyard.transcriptionModel('acme/hears');

  it('gives the text', async () => {
    clientStack.upstream.on('hears', (_request, response) => void response.end('{"text":"one two"}'));
    const { text, segments, durationInSeconds, providerMetadata } = await transcribe({
      model: model(),
      audio: SILENT_SECOND,
    });
    expect({ text, segments, durationInSeconds }).toEqual({
      ...{ text: 'one two', segments: [], durationInSeconds: 1 },
    });
    expect((await latestLog('acme/hears')).cost).toBe(costOf(providerMetadata));
  });

  it('says so to a caller who asks for times', async () => {
    const asked = { model: model(), audio: SILENT_SECOND, maxRetries: 0 };
    const refused = transcribe({ ...asked, timestampGranularities: ['word'] });
    await expect(refused).rejects.toThrow(/reports no times/);
  });
});

describe('rerank', () => {
  const documents = [
    'Bread is baked from flour.',
    'Computers are rented by the minute.',
    'Rain falls on the sea.',
  ];

  it('puts the best document first', async () => {
    const { rerankedDocuments, providerMetadata } = await rerank({
      model: switchyard.rerankingModel('local/rerank'),
      query: 'renting a computer',
      documents,
      topN: 2,
    });
    expect(rerankedDocuments).toHaveLength(2);
    expect(rerankedDocuments[0]).toBe(documents[1]);
    expect(costOf(providerMetadata)).toBe(0.00002);
  });

  it('ranks objects too', async () => {
    const { ranking } = await rerank({
      model: switchyard.rerankingModel('local/rerank'),
      query: 'renting a computer',
      documents: documents.map((text) => ({ text })),
    });
    expect(ranking[0]?.originalIndex).toBe(1);
  });
});

describe('decide', () => {
  const model = () => switchyard.decisionModel('local/decide');

  it('answers questions of all three types, typed by the question', async () => {
    const { answers, usage, providerMetadata } = await decide({
      model: model(),
      state: [
        { type: 'text', text: 'The parcel never arrived, please give me my money back.' },
        { type: 'json', value: { amount: 120 } },
      ],
      questions: {
        large: { type: 'boolean', instructions: 'Is the amount over 100?' },
        team: {
          type: 'choice',
          instructions: 'Which team is it for?',
          criteria: { refunds: 'money back', sales: 'buying something new' },
        },
        anger: { type: 'score', instructions: 'How angry is it?', criteria: ['calm', 'angry', 'furious'] },
      },
    });
    expect(answers.large.probability).toBeGreaterThan(0.5);
    expect(answers.team.choice).toBe('refunds');
    expect(answers.anger.score).toBeGreaterThanOrEqual(0);
    expect(answers.anger.score).toBeLessThanOrEqual(2);
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect((await latestLog('local/decide')).cost).toBe(costOf(providerMetadata));
  });

  it('asks a question that only its criteria define by its name', async () => {
    const { answers } = await decide({
      model: model(),
      state: 'The kitchen is on fire, come at once!',
      questions: {
        fire: { type: 'boolean', criteria: { true: 'something is on fire', false: 'nothing is' } },
      },
    });
    expect(answers.fire.probability).toBeGreaterThan(0.5);
  });

  it('takes levels of a score without text, and warns of what it cannot do', async () => {
    const { answers, warnings } = await decide({
      model: model(),
      state: 'The kitchen is on fire, come at once!',
      questions: {
        danger: { type: 'score', instructions: 'How dangerous is it?', criteria: [null, { say: 'fire' }] },
      },
      maxOutputTokens: 10,
      reasoning: 'high',
    });
    expect(answers.danger.score).toBeGreaterThanOrEqual(0);
    expect(warnings).toEqual([
      { type: 'unsupported', feature: 'maxOutputTokens' },
      { type: 'unsupported', feature: 'reasoning' },
    ]);
  });
});

describe.skipIf(!withVideo)('generateVideo', () => {
  const poll = { intervalMs: 200, timeoutMs: 240_000 };

  it('waits for the job and gives its MP4, of the size and length asked for, with sound', async () => {
    const { video, providerMetadata } = await generateVideo({
      model: switchyard.videoModel('local/video'),
      prompt: 'a red boat on the sea',
      duration: 2,
      generateAudio: true,
      providerOptions: { switchyard: { resolution: '480p' } },
      poll,
    });
    expect(video.mediaType).toBe('video/mp4');
    expect(probe(video.uint8Array)).toEqual({
      picture: { width: 854, height: 480 },
      sound: true,
      seconds: expect.closeTo(2, 1),
    });
    const { id, seconds, cost } = z
      .object({ id: z.string(), seconds: z.number(), cost: z.number() })
      .parse(providerMetadata.switchyard);
    expect({ seconds, cost }).toEqual({ seconds: 2, cost: 0.002 });
    const job = await fetch(`${clientStack.baseURL}/videos/${id}`, {
      headers: { authorization: `Bearer ${clientStack.key}` },
    });
    expect(await job.json()).toMatchObject({ status: 'completed', usage: { seconds: 2, cost: 0.002 } });
  });

  it('receives the end by a webhook, if the SDK has one', async () => {
    const { video, warnings } = await generateVideo({
      model: switchyard.videoModel('local/video'),
      prompt: 'a tree',
      duration: 1,
      resolution: '320x240',
      webhook: async () => ({ url: hook.url, received: hook.received }),
      poll: { timeoutMs: poll.timeoutMs },
    });
    expect(warnings).toEqual([]);
    expect(video.uint8Array.length).toBeGreaterThan(1_000);
    const { headers, body } = await hook.received;
    expect(headers['webhook-signature']).toMatch(/^v1,/);
    expect(body).toMatchObject({ type: 'video.completed' });
  });

  it('takes a first frame, and warns of what it cannot do', async () => {
    const { image } = await generateImage({
      model: switchyard.imageModel('local/image'),
      prompt: 'a green house',
      size: '320x240',
    });
    const { video, warnings } = await generateVideo({
      model: switchyard.videoModel('local/video'),
      prompt: { image: image.uint8Array, text: 'closer' },
      duration: 1,
      resolution: '320x240',
      fps: 60,
      poll,
    });
    expect(warnings).toEqual([{ type: 'unsupported', feature: 'fps' }]);
    expect(probe(video.uint8Array)).toMatchObject({ picture: { width: 320, height: 240 }, sound: false });
  });

  it('says which field is missing where no duration is given', async () => {
    const started = generateVideo({ model: switchyard.videoModel('local/video'), prompt: 'x', poll });
    await expect(started).rejects.toThrow(/duration/);
  });
});

/** Findings of ffprobe on a video. */
function probe(video: Uint8Array): { picture: unknown; sound: boolean; seconds: number } {
  const args = '-v error -show_entries stream=codec_type,width,height:format=duration -of json -i pipe:0';
  const { stdout } = spawnSync('ffprobe', args.split(' '), { input: video });
  const { streams, format } = z
    .object({
      streams: z.array(
        z.object({ codec_type: z.string(), width: z.int().optional(), height: z.int().optional() }),
      ),
      format: z.object({ duration: z.coerce.number() }),
    })
    .parse(JSON.parse(stdout.toString()));
  const { width, height } = streams.find(({ codec_type }) => codec_type === 'video') ?? {};
  const sound = streams.some(({ codec_type }) => codec_type === 'audio');
  return { picture: { width, height }, sound, seconds: format.duration };
}

describe('errors', () => {
  const failure = (call: PromiseLike<unknown>): Promise<APICallError> =>
    Promise.resolve(call).then(
      () => {
        throw new Error('it did not fail');
      },
      (error: unknown) => {
        if (APICallError.isInstance(error)) return error;
        throw new Error('it did not fail with an APICallError', { cause: error });
      },
    );

  it.each([
    ['language', () => generateText({ model: switchyard('acme/nonesuch'), prompt: 'x', maxRetries: 0 })],
    [
      'embedding',
      () => embed({ model: switchyard.embeddingModel('acme/nonesuch'), value: 'x', maxRetries: 0 }),
    ],
    [
      'image',
      () => generateImage({ model: switchyard.imageModel('acme/nonesuch'), prompt: 'x', maxRetries: 0 }),
    ],
    [
      'speech',
      () => generateSpeech({ model: switchyard.speechModel('acme/nonesuch'), text: 'x', maxRetries: 0 }),
    ],
  ])('of a %s call carry our status and message', async (_type, call) => {
    const error = await failure(call());
    expect(error.statusCode).toBe(404);
    expect(error.message).toContain('acme/nonesuch');
    expect(error.isRetryable).toBe(false);
  });

  it('are retried only where we say that this can help', async () => {
    const ask = (model: string) =>
      failure(generateText({ model: switchyard(model), prompt: 'x', maxRetries: 0 }));
    expect((await ask('acme/broken')).isRetryable).toBe(false);
    expect((await ask('acme/limited')).isRetryable).toBe(true);
  });

  it('of a key that is missing say which variable to set', async () => {
    const keyless = createSwitchyard({ baseURL: clientStack.baseURL });
    const error = await Promise.resolve(
      generateText({ model: keyless('local/chat'), prompt: 'x', maxRetries: 0 }),
    ).catch((reason: unknown) => reason);
    expect(String(error)).toContain('SWITCHYARD_KEY');
  });
});

function cosine(a: readonly number[] = [], b: readonly number[] = []): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

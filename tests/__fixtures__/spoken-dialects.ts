// How a client reads each dialect: a good answer, an error, and a broken stream, whose events must match
// the contract. For tests that ask the same in every dialect.
import {
  chatCompletionChunk,
  type Dialect,
  messagesEvent,
  responsesEvent,
  textCompletionChunk,
} from '@switchyard/contracts';
import type { z } from 'zod';

interface ReadAnswer {
  /** The models that the answer, or any of its chunks, names. */
  models: string[];
  /** Dollars. */
  cost: number;
}

interface ReadError {
  code: string;
  details: { attempts: unknown[] };
}

interface SpokenDialect {
  path: string;
  /** "Hello!", without the model. */
  hello: object;
  /** @throws Error when the answer is not complete */
  readAnswer(text: string, stream: boolean): ReadAnswer;
  readError(body: string): ReadError;
  /** The text of a stream until it broke off, and the code of the error at its end. */
  readBroken(text: string): { text: string; code: string };
}

interface Chunk {
  model: string;
  usage?: { cost: number } | null;
  choices?: { text?: string; delta?: { content?: string } }[];
  error?: { code: string };
}

interface ResponseEvent {
  type: string;
  delta?: string;
  error?: { code: string };
  response?: { model: string; status: string; usage: { cost: number } | null };
}

const DONE = '[DONE]';

/** The data of the events of a stream, in order; comments are left out. */
function dataOf(text: string): string[] {
  return text
    .split('\n\n')
    .map((event) => /^data: (.*)$/m.exec(event)?.[1])
    .filter((data) => data !== undefined);
}

const openAiError = (body: string) => (JSON.parse(body) as { error: ReadError }).error;

/** Chat and completions differ only in where a chunk has its text. */
function inChunks(path: string, hello: object, schema: z.ZodType): SpokenDialect {
  const chunkOf = (data: string) => {
    const chunk = JSON.parse(data) as Chunk;
    return chunk.error ? chunk : (schema.parse(chunk) as Chunk);
  };
  return {
    path,
    hello,
    readAnswer(text, stream) {
      const parts = stream ? dataOf(text) : [text];
      if (stream && parts.pop() !== DONE) throw new Error('the stream does not end with [DONE]');
      const chunks = parts.map((part) => (stream ? chunkOf(part) : (JSON.parse(part) as Chunk)));
      return { models: chunks.map(({ model }) => model), cost: chunks.at(-1)?.usage?.cost ?? Number.NaN };
    },
    readError: openAiError,
    readBroken(text) {
      const parts = dataOf(text);
      if (parts.includes(DONE)) throw new Error('the stream ends as if it were complete');
      const chunks = parts.map(chunkOf);
      const said = chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? choices?.[0]?.text ?? '');
      return { text: said.join(''), code: chunks.at(-1)?.error?.code ?? '' };
    },
  };
}

const responses: SpokenDialect = {
  path: '/v1/responses',
  hello: { input: 'Hello!' },
  readAnswer(text, stream) {
    const events = stream ? eventsOf(text) : [];
    const ended = stream ? events.at(-1) : { response: JSON.parse(text) as ResponseEvent['response'] };
    const { status = '', usage } = ended?.response ?? {};
    if (!['completed', 'incomplete'].includes(status)) throw new Error(`the response is ${status}`);
    const named = [...events, ended].flatMap((event) => event?.response?.model ?? []);
    return { models: named, cost: usage?.cost ?? Number.NaN };
  },
  readError: openAiError,
  readBroken(text) {
    const events = eventsOf(text);
    const [error, failed] = events.slice(-2);
    if (failed?.type !== 'response.failed') throw new Error('the stream does not end with response.failed');
    return { text: events.map(({ delta }) => delta ?? '').join(''), code: error?.error?.code ?? '' };
  },
};

const eventsOf = (text: string) =>
  dataOf(text).map((data) => responsesEvent.parse(JSON.parse(data)) as ResponseEvent);

interface MessageEvent {
  type: string;
  message?: { model: string };
  delta?: { text?: string };
  usage?: { cost: number };
  error?: { code: string };
}

const messages: SpokenDialect = {
  path: '/v1/messages',
  hello: { max_tokens: 1_000, messages: [{ role: 'user', content: 'Hello!' }] },
  readAnswer(text, stream) {
    if (!stream) {
      const { model, usage } = JSON.parse(text) as { model: string; usage: { cost: number } };
      return { models: [model], cost: usage.cost };
    }
    const events = messageEventsOf(text);
    const [end, stop] = events.slice(-2);
    if (stop?.type !== 'message_stop') throw new Error('the stream does not end with message_stop');
    return {
      models: events.flatMap(({ message }) => message?.model ?? []),
      cost: end?.usage?.cost ?? Number.NaN,
    };
  },
  readError: openAiError,
  readBroken(text) {
    const events = messageEventsOf(text);
    const error = events.at(-1);
    if (error?.type !== 'error') throw new Error('the stream does not end with an error');
    return { text: events.map(({ delta }) => delta?.text ?? '').join(''), code: error.error?.code ?? '' };
  },
};

const messageEventsOf = (text: string) =>
  dataOf(text).map((data) => messagesEvent.parse(JSON.parse(data)) as MessageEvent);

export const SPOKEN = {
  chat: inChunks(
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'Hello!' }] },
    chatCompletionChunk,
  ),
  completions: inChunks('/v1/completions', { prompt: 'Hello!' }, textCompletionChunk),
  responses,
  messages,
} as const satisfies Partial<Record<Dialect, SpokenDialect>>;

export type Spoken = keyof typeof SPOKEN;

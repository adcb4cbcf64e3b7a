// Contract tests of a chat maker from a table of cases: what it is sent, what its answers mean to a caller, which fields
// it refuses, and how its errors are classified. `makers/mistral/chat-contract.test.ts` is an example.
import { describe, expect, test } from 'vitest';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import {
  CONVERSATION,
  chatFixture,
  type ExpectedFailure,
  failureOf,
  failuresOf,
  finishReasonOf,
  HELLO,
  messageOf,
  readChunks,
  TOOLS,
  withMaker,
} from './replayed-chat.ts';
import type { Outcome } from './replayed-maker.ts';

/** A fixture by its name without `chat-`, or the prefix of the answers. A name that ends in `stream` is an answer to a streamed call. */
type FixtureName = string;

interface ChatCases {
  /** `import.meta.dirname`: the folder above `__fixtures__`. */
  folder: string;
  model: string;
  /**
   * `CONVERSATION` with `TOOLS` and these settings, and the whole request that the maker must get for it. `settings` may
   * replace `messages`, and `tools` by undefined.
   */
  conversation: { settings: object; path: string; headers: Record<string, string>; json: object };
  /** What the request is about, the caller's fields, and members of the maker's request. */
  requests?: readonly (readonly [about: string, fields: object, json: object])[];
  /** Prefix of the answers, for a maker with two APIs; default: `chat`. */
  answersOf?: string;
  answers: Readonly<Record<FixtureName, Partial<Answer>>>;
  /** The field that the refusal names, and fields with it. */
  refused: readonly (readonly [param: string, fields: object])[];
  errors: Readonly<Record<FixtureName, ExpectedFailure>>;
}

/** A whole or a streamed answer, as a caller reads it. */
interface Answer {
  content: string;
  refusal: string;
  reasoning: string;
  toolCalls: readonly { id: unknown; name: string; arguments: string; extra_content?: unknown }[];
  finishReason: string;
  usage: unknown;
}

/** The part of the events that arrive. */
const CUT_IN_THE_MIDDLE = 0.5;

export function describeChat(maker: MakerDeclaration, cases: ChatCases): void {
  const { folder, model, answersOf = 'chat' } = cases;
  const answer = (name: FixtureName) => chatFixture(folder, `${answersOf}-${name}`);

  describe('a chat request', () => {
    test('has every part of the conversation, every setting and our key', () =>
      withMaker(maker, [answer('text')], async ({ call, requests }) => {
        const { settings, path, headers, json } = cases.conversation;
        const body = { messages: CONVERSATION, tools: TOOLS, ...settings };
        expect((await call('language', body, { model })).status).toBe(200);
        expect(requests[0]).toMatchObject({ path, headers });
        expect(requests[0]?.json()).toEqual(json);
      }));

    test.each(cases.requests ?? [])('has %s', (_about, fields, json) =>
      withMaker(maker, [answer('text')], async ({ call, requests }) => {
        expect((await call('language', { ...HELLO, ...fields }, { model })).status).toBe(200);
        expect(requests[0]?.json()).toMatchObject(json);
      }),
    );
  });

  test.each(
    Object.entries(cases.answers),
  )('the answer "%s" has its text, thinking, tool calls, finish reason and usage', (name, expected) =>
    withMaker(maker, [answer(name)], async ({ call }) => {
      const stream = name.endsWith('stream');
      const outcome = await call('language', { ...requestFor(expected), stream }, { model });
      expect(outcome.status).toBe(200);
      expect(stream ? readStream(outcome) : readWhole(outcome)).toMatchObject(expected);
    }),
  );

  const streams = Object.entries(cases.answers).filter(([name]) => name.endsWith('stream'));
  test.each(streams)('the answer "%s" is not whole when it is cut in its middle', (name, expected) =>
    withMaker(maker, [chatFixture(folder, `${answersOf}-${name}`, CUT_IN_THE_MIDDLE)], async ({ call }) => {
      const cut = call('language', { ...requestFor(expected), stream: true }, { model });
      await expect(cut).rejects.toThrow();
    }),
  );

  test.each(cases.refused)('the unsupported field %s is refused before anything is sent', (param, fields) =>
    withMaker(maker, [answer('text')], async ({ call, requests }) => {
      const outcome = await call('language', { ...HELLO, ...fields }, { model });
      expect(failureOf(outcome)).toMatchObject({ status: 400, kind: 'unsupported', param });
      expect(requests).toEqual([]);
    }),
  );

  test.each(
    Object.entries(cases.errors),
  )('%s is classified for fallback', async (name, { said = /./, ...expected }) => {
    for (const failure of await failuresOf(maker, chatFixture(folder, `chat-${name}`), model)) {
      expect(failure).toMatchObject(expected);
      expect(failure.message).toMatch(said);
      expect(failure.requests).toBe(1); // the AI SDK does not retry
    }
  });
}

/** A maker may have no tools. */
function requestFor({ toolCalls }: Partial<Answer>): object {
  return { ...HELLO, ...(toolCalls ? { tools: TOOLS } : {}) };
}

function readWhole(outcome: Outcome): Answer {
  const { content, refusal, reasoning_content, tool_calls } = messageOf(outcome) as {
    content: string | null;
    refusal?: string | null;
    reasoning_content?: string;
    tool_calls?: { id: string; function: { name: string; arguments: string }; extra_content?: unknown }[];
  };
  return {
    content: content ?? '',
    refusal: refusal ?? '',
    reasoning: reasoning_content ?? '',
    toolCalls: (tool_calls ?? []).map(({ function: called, ...call }) => ({ ...call, ...called })),
    finishReason: String(finishReasonOf(outcome)),
    usage: outcome.json().usage,
  };
}

function readStream(outcome: Outcome): Answer {
  const { finishReasons, usages, done, ...read } = readChunks(outcome);
  expect({ finishReasons: finishReasons.length, usages: usages.length, done }).toEqual({
    ...{ finishReasons: 1, usages: 1, done: true },
  });
  return { ...read, finishReason: String(finishReasons[0]), usage: usages[0] };
}

// Attempts at the test's own maker: memory for its downloads, and failures that count against it.
import type { IncomingCall } from '@switchyard/bus';
import { catalogModel, type ModelCallHead } from '@switchyard/contracts';
import { ByteBudget, makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { beforeEach, expect, test } from 'vitest';
import type { CallOptions, Maker } from '../makers/maker.ts';
import type { CallContext } from './call-context.ts';
import { CallRecord } from './call-record.ts';
import { Circuits, FAILURES_TO_OPEN } from './circuits.ts';
import { Fallback } from './fallback.ts';
import { JsonRequest } from './json-request.ts';

const MIB = 1024 * 1024;
const ORG = 'org_a';
const OTHERS = { org: ORG, signal: new AbortController().signal };
const MODEL = catalogModel.parse({
  id: 'acme/chat-1',
  type: 'language',
  name: 'Chat 1',
  modalities: { input: ['text'], output: ['text'] },
  pricing: { input_token: '0', output_token: '0' },
  upstreams: [{ adapter: 'test', model: 'chat-1' }],
});
const CANDIDATES = MODEL.upstreams.map((upstream) => ({ model: MODEL, upstream }));
const ANSWER = Buffer.from('{"choices":[{"message":{"content":"Hi"}}],"usage":{"prompt_tokens":1}}');

let clock: FakeClock;
let circuits: Circuits;
let largeBodies: ByteBudget;
beforeEach(() => {
  clock = new FakeClock();
  circuits = new Circuits(clock);
  largeBodies = new ByteBudget({ bytesMax: 128 * MIB, clock });
});

/** Runs a call whose maker does this before it answers. */
function answerAfter(prepare: (options: CallOptions) => Promise<unknown>, bodyMemory = 0): Promise<void> {
  const maker: Maker = {
    async call(_request, options) {
      await prepare(options);
      const body = (async function* () {
        yield ANSWER;
      })();
      return { status: 200, contentType: 'application/json', retryAfterS: null, body };
    },
  };
  const head = { org: ORG, request_id: 'req_1', stream: false } as ModelCallHead;
  const callTimeoutMs = 600_000;
  const context = {
    ...{ type: 'language', head, circuits, largeBodies, clock, callTimeoutMs, bodyMemory, budget: null },
    makers: { test: maker },
    keys: { redactKeys: (words: string) => words },
    call: { isCancelled: false, signal: OTHERS.signal } as IncomingCall,
    record: new CallRecord('language', head, { clock, callTimeoutMs }),
    reply: { endWhole: () => {} },
    logger: makeLogger('test', 'silent'),
  } as unknown as CallContext & { bodyMemory: number };
  const request = new JsonRequest('language', Buffer.from('{"messages":[]}'), head);
  return new Fallback(request, context).answerFrom(CANDIDATES);
}

test('a call does not wait for memory that it holds itself, nor for a body that waits for it', async () => {
  const body = await largeBodies.take(20 * MIB, OTHERS);
  let other: Promise<unknown> = Promise.resolve();
  await answerAfter(async ({ reserve }) => {
    await reserve(36 * MIB);
    other = largeBodies.take(60 * MIB, OTHERS);
    await reserve(36 * MIB);
  }, body.amount);
  body.release();
  await other;
  expect(largeBodies).toMatchObject({ held: 60 * MIB, waiting: 0 });
});

test('a call without memory for its files ends with that error', async () => {
  const share = await largeBodies.take(64 * MIB, OTHERS);
  const answered = answerAfter(({ reserve }) => {
    const reserved = reserve(MIB);
    clock.advance(20_000);
    return reserved;
  });
  await expect(answered).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 10 });
  share.release();
  expect(largeBodies.held).toBe(0);
});

test('failures before a maker is asked do not open its circuit for others; later ones do', async () => {
  const broken = () => Promise.reject(new Error('it broke'));
  for (let call = 0; call < FAILURES_TO_OPEN; call += 1) await answerAfter(broken).catch(() => {});
  expect(circuits.states().size).toBe(0);
  const unreachable = ({ onRequest }: CallOptions) => {
    onRequest();
    return broken();
  };
  for (let call = 0; call < FAILURES_TO_OPEN; call += 1) await answerAfter(unreachable).catch(() => {});
  expect([...circuits.states().values()]).toEqual(['open']);
});

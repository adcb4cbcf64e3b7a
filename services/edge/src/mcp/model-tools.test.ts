// Tools for models, with answers of a fake router.
import { serve } from '@switchyard/bus';
import { type ModelObject, modelCallSubject } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

/** More than one list of the tool has. */
const IDS = Array.from({ length: 150 }, (_, n) => `ollama/model-${n}`);

function modelOf(id: string): ModelObject {
  return {
    ...{ id, object: 'model', created: 0, owned_by: 'ollama', name: id, description: '', type: 'language' },
    ...{ endpoint: 'POST /v1/chat/completions', modalities: { input: ['text'], output: ['text'] } },
    ...{ context_length: null, pricing: { input_token: '0', output_token: '0' }, limits: {} },
    ...{ supported_parameters: [], available: true, unavailable_reason: null },
  };
}

let edge: TestEdge;
let key: string;
let message: object = {};
/** The head of the latest call. */
let head: unknown;

beforeAll(async () => {
  edge = await startTestEdge();
  key = await edge.addKey();
  const router = await serve(edge.bus, { name: 'model-router', version: '0.0.1', description: 'of a test' });
  router.stream(modelCallSubject('language'), async (call) => {
    head = call.head;
    for await (const _piece of call.body());
    call.setHead({ status: 200, content_type: 'application/json' });
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    call.end({ cost: '0.5' }, Buffer.from(JSON.stringify({ model: 'acme/chat-1', choices, usage: {} })));
  });
  router.handle('models.list', async () => ({ data: IDS.map(modelOf) }));
});
afterAll(() => edge?.stop());

/** The text that a tool returns. */
async function call(name: string, args: object, headers: Record<string, string> = {}): Promise<string> {
  const params = { name, arguments: args };
  const answer = await fetch(`${edge.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const [, data = ''] = /^data: (.*)$/m.exec(await answer.text()) ?? [];
  const { result } = JSON.parse(data) as { result: { content: { text: string }[] } };
  return result.content[0]?.text ?? '';
}

const chat = (headers?: Record<string, string>) =>
  call('chat', { model: 'acme/chat-1', messages: [{ role: 'user', content: 'Hello' }] }, headers);

test.each([
  ['a text', { content: 'Hi.' }, 'Hi.'],
  ['a refusal', { content: null, refusal: 'I will not.' }, 'I will not.'],
  [
    'parts, as from Mistral',
    {
      content: [
        { type: 'thinking', thinking: [] },
        { type: 'text', text: 'Hi.' },
      ],
    },
    'Hi.',
  ],
  ['nothing', { content: null }, ''],
])('chat returns %s', async (_what, said, text) => {
  message = { role: 'assistant', ...said };
  expect(await chat()).toBe(text);
});

test('a call has the tags, the id and the trace that its client gave', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await chat({ 'x-service-tags': 'team=search', 'x-client-request-id': 'my-1', traceparent });
  expect(head).toMatchObject({ tags: { team: 'search' }, client_request_id: 'my-1', traceparent });
});

test('list_models leads to all models, list by list', async () => {
  const ids: string[] = [];
  for (let more = true; more; ) {
    const after = ids.length === 0 ? {} : { after: ids.at(-1) };
    const list = JSON.parse(await call('list_models', { type: 'language', ...after }));
    for (const { id } of list.models) ids.push(id);
    more = list.has_more;
  }
  expect(ids).toEqual(IDS);
});

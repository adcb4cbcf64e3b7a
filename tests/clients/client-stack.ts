// Shared by the tests of official clients: the whole stack with the test upstream behind `acme/*`, and the one thing
// that Switchyard adds to OpenAI's answers, `usage.cost`.
import {
  chatModel,
  startStack,
  startUpstream,
  type TestStack,
  type Upstream,
  writeTestCatalog,
} from '@switchyard/testing';
import { z } from 'zod';

export interface ClientStack {
  /** Base URL for a client, `/v1` included. */
  baseURL: string;
  key: string;
  stack: TestStack;
  upstream: Upstream;
  stop: () => Promise<void>;
}

/** Models whose upstream fails with a status, for the clients' error classes. */
export const FAILING = { 429: 'acme/limited', 500: 'acme/broken', 503: 'acme/overloaded' } as const;

/** `env` is added to the environment of the services. */
export async function startClientStack(env: Record<string, string> = {}): Promise<ClientStack> {
  const upstream = await startUpstream();
  const models = [
    ...Object.entries(FAILING).map(([fault, id]) => chatModel(id, upstream.url, `${id}+fault-${fault}`)),
    { ...chatModel('acme/thinks', upstream.url, 'thinks'), supported_parameters: ['reasoning_effort'] },
    chatModel('acme/cut', upstream.url, 'cut+gap-50+cut-5'),
    chatModel('acme/claude', upstream.url, 'claude', { adapter: 'anthropic' }),
    chatModel('acme/gemini', upstream.url, 'gemini', { adapter: 'google' }),
    gptModel('acme/gpt', upstream.url, 'gpt'),
    gptModel('acme/gpt-fails', upstream.url, 'gpt-fails'),
    chatModel('acme/refuses', upstream.url, 'refuses'),
    chatModel('acme/breaks-off', upstream.url, 'breaks-off+error-3'),
    {
      id: 'acme/hears',
      type: 'transcription' as const,
      name: 'Reports no times',
      modalities: { input: ['audio' as const], output: ['text' as const] },
      pricing: { minute: '0.006' },
      limits: { response_formats: ['json', 'text'] },
      upstreams: [{ adapter: 'openai-compatible', base_url: upstream.url, model: 'hears' }],
    },
    chatModel('acme/endless', upstream.url, 'endless+gap-20+megabytes-64'),
  ];
  const catalog = await writeTestCatalog({ url: upstream.url, models });
  const stack = await startStack({ env: { ...env, SWITCHYARD_CATALOG: catalog } }).catch(
    async (error: unknown) => {
      await upstream.close();
      throw error;
    },
  );
  return {
    baseURL: `${stack.url}/v1`,
    key: stack.key,
    stack,
    upstream,
    stop: async () => {
      await stack.stop();
      await upstream.close();
    },
  };
}

/** A reasoning model of OpenAI itself. */
function gptModel(...[id, url, name]: [id: string, url: string, name: string]) {
  return {
    ...chatModel(id, url, name, { adapter: 'openai' }),
    supported_parameters: ['tools', 'reasoning_effort'],
  };
}

const usageWithCost = z.looseObject({ cost: z.number() });

/** The cost in a usage object, in dollars. @throws ZodError when there is none. */
export function costOf(usage: unknown): number {
  return usageWithCost.parse(usage).cost;
}

/** Dollars that acme/chat-1 costs for these tokens, as its catalog entry has it. */
export function chatCost(inputTokens: number, outputTokens: number): number {
  return (inputTokens * 150 + outputTokens * 600) / 1e9;
}

/** Dollars that local/chat costs. */
export function localChatCost(inputTokens: number, outputTokens: number): number {
  return (inputTokens * 50 + outputTokens * 200) / 1e9;
}

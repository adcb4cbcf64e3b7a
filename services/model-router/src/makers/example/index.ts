// Example: chat, as a language model of the AI SDK. Everything else is the same for all makers: OpenAI's shapes, fields
// without a setting in the AI SDK (they get 400), timeouts, fallback, prices, and the caller's `provider_options`.
import {
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4FinishReason,
  type LanguageModelV4Message,
  type LanguageModelV4StreamPart,
  type LanguageModelV4ToolCall,
  type LanguageModelV4Usage,
  type SharedV4Warning,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import {
  convertToBase64,
  createEventSourceResponseHandler,
  createJsonErrorResponseHandler,
  createJsonResponseHandler,
  createProviderStreamError,
  type ParseResult,
  postJsonToApi,
} from '@ai-sdk/provider-utils';
import { z } from 'zod';
import type { MakerDeclaration, ProviderSettings } from '../ai-sdk/declaration.ts';

export const example: MakerDeclaration = {
  /** `adapter` in the catalog. */
  name: 'example',
  types: ['language'],
  baseUrl: 'https://api.example.com/v1',
  /** The variable of the maker's own documentation. */
  apiKeyEnv: 'EXAMPLE_API_KEY',
  /** The maker's names for what the price depends on, each with ours: `provider_options` may not set them. */
  priced: { cap: 'max_tokens' },
  async create(settings) {
    return { language: (id) => exampleChat(settings, id) };
  },
};

const calledTool = z.object({ id: z.string(), tool: z.string(), input: z.unknown() });
const used = z.object({
  in: z.number(),
  cached: z.number().optional(),
  out: z.number(),
  thinking: z.number().optional(),
});
const answer = z.object({
  thought: z.string().default(''),
  words: z.string(),
  calls: z.array(calledTool).default([]),
  why: z.string(),
  used,
});
const problem = z.object({ problem: z.string() });
/** An event of a stream has some of these. */
const event = z.object({
  thought: z.string().optional(),
  words: z.string().optional(),
  call: calledTool.optional(),
  why: z.string().optional(),
  used: used.optional(),
  problem: z.string().optional(),
});

function exampleChat(settings: ProviderSettings, modelId: string): LanguageModelV4 {
  const requestOf = (options: LanguageModelV4CallOptions, stream: boolean) => ({
    url: `${settings.baseURL}/generate`,
    // `options.headers` has a mark of ours: without it the request would be sent once more, to learn its warnings.
    headers: { ...options.headers, 'x-example-key': settings.apiKey },
    body: { model: modelId, stream, ...bodyOf(options) },
    failedResponseHandler: createJsonErrorResponseHandler({
      errorSchema: problem,
      errorToMessage: (error) => error.problem,
    }),
    fetch: settings.fetch,
    ...(options.abortSignal && { abortSignal: options.abortSignal }),
  });
  return {
    specificationVersion: 'v4',
    provider: 'example',
    modelId,
    supportedUrls: {}, // kinds of files that the maker fetches itself; the router downloads others, and sends their bytes
    async doGenerate(options) {
      const { value } = await postJsonToApi({
        ...requestOf(options, false),
        successfulResponseHandler: createJsonResponseHandler(answer),
      });
      const { thought, words, calls } = value;
      return {
        content: [
          ...(thought === '' ? [] : [{ type: 'reasoning' as const, text: thought }]),
          ...(words === '' ? [] : [{ type: 'text' as const, text: words }]),
          ...calls.map(toolCallOf),
        ],
        finishReason: finishOf(value.why),
        usage: usageOf(value.used),
        warnings: warningsOf(options),
      };
    },
    async doStream(options) {
      const { value } = await postJsonToApi({
        ...requestOf(options, true),
        successfulResponseHandler: createEventSourceResponseHandler(event),
      });
      return { stream: value.pipeThrough(partsOf(warningsOf(options))) };
    },
  };
}

/** JSON leaves out members that are undefined. */
function bodyOf({ prompt, tools, toolChoice, ...options }: LanguageModelV4CallOptions) {
  return {
    turns: prompt.map(turnOf),
    cap: options.maxOutputTokens,
    heat: options.temperature,
    stops: options.stopSequences,
    tools: tools?.map((tool) => {
      if (tool.type !== 'function') throw unsupported('tools that are no functions');
      return { name: tool.name, about: tool.description, input: tool.inputSchema };
    }),
    use: toolChoice?.type === 'tool' ? toolChoice.toolName : toolChoice?.type,
  };
}

/** Settings of the AI SDK that Example has no place for: a caller who sets one gets 400 before anything is sent. */
const UNSUPPORTED = [
  ...(['topP', 'topK', 'seed', 'presencePenalty', 'frequencyPenalty'] as const),
  ...(['reasoning', 'responseFormat'] as const),
];

function warningsOf(options: LanguageModelV4CallOptions): SharedV4Warning[] {
  const ignored = UNSUPPORTED.filter((feature) => options[feature] !== undefined);
  return ignored.map((feature) => ({ type: 'unsupported', feature }));
}

function turnOf(message: LanguageModelV4Message) {
  switch (message.role) {
    case 'system':
      return { by: 'system', parts: [{ words: message.content }] };
    case 'user':
    case 'assistant':
      return { by: message.role, parts: message.content.map(partOf) };
    case 'tool':
      return { by: 'tool', parts: message.content.map(partOf) };
    default:
      return message satisfies never;
  }
}

/** @throws UnsupportedFunctionalityError for what the maker has no place for: the caller gets 400 */
function partOf(part: Exclude<LanguageModelV4Message['content'][number], string>) {
  if (part.type === 'text') return { words: part.text };
  if (part.type === 'file' && part.mediaType.startsWith('image/') && part.data.type === 'data')
    return { picture: convertToBase64(part.data.data) };
  if (part.type === 'tool-call') return { call: part.toolCallId, tool: part.toolName, input: part.input };
  if (part.type === 'tool-result' && part.output.type === 'text')
    return { call: part.toolCallId, result: part.output.value };
  throw unsupported(`${part.type} in messages`);
}

function unsupported(functionality: string): UnsupportedFunctionalityError {
  return new UnsupportedFunctionalityError({ functionality });
}

function toolCallOf({ id, tool, input }: z.infer<typeof calledTool>): LanguageModelV4ToolCall {
  return { type: 'tool-call', toolCallId: id, toolName: tool, input: JSON.stringify(input) };
}

const FINISH: Readonly<Record<string, LanguageModelV4FinishReason['unified']>> = {
  done: 'stop',
  cap: 'length',
  calls: 'tool-calls',
  blocked: 'content-filter',
};

function finishOf(why: string): LanguageModelV4FinishReason {
  return { unified: FINISH[why] ?? 'other', raw: why };
}

/** `total` is what the maker bills: input with what was read from its cache, output with thinking. */
function usageOf({ in: input, cached = 0, out, thinking = 0 }: z.infer<typeof used>): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: input - cached, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: out, text: out - thinking, reasoning: thinking },
  };
}

type Parts = TransformStreamDefaultController<LanguageModelV4StreamPart>;

/** A stream that was cut gets no `finish`: the router then falls back, or ends it as broken and free. */
function partsOf(warnings: SharedV4Warning[]) {
  let open: 'text' | 'reasoning' | null = null;
  const goOn = (block: typeof open, out: Parts) => {
    if (block === open) return;
    if (open) out.enqueue({ type: `${open}-end`, id: open });
    if (block) out.enqueue({ type: `${block}-start`, id: block });
    open = block;
  };
  return new TransformStream<ParseResult<z.infer<typeof event>>, LanguageModelV4StreamPart>({
    start: (out) => out.enqueue({ type: 'stream-start', warnings }), // not with the first event: there may be none
    transform(read, out) {
      if (!read.success) return out.enqueue({ type: 'error', error: read.error });
      const { thought, words, call, why, used, problem: message } = read.value;
      if (message) {
        const error = createProviderStreamError({ message, data: read.value });
        return out.enqueue({ type: 'error', error });
      }
      if (thought) {
        goOn('reasoning', out);
        out.enqueue({ type: 'reasoning-delta', id: 'reasoning', delta: thought });
      }
      if (words) {
        goOn('text', out);
        out.enqueue({ type: 'text-delta', id: 'text', delta: words });
      }
      // For arguments that come in pieces: `tool-input-start`, `-delta` and `-end` with the id of the call, then this.
      if (call) out.enqueue(toolCallOf(call));
      if (!why || !used) return;
      goOn(null, out);
      out.enqueue({ type: 'finish', finishReason: finishOf(why), usage: usageOf(used) });
    },
  });
}

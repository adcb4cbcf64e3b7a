// Maps OpenAI's fields beside the messages to the AI SDK's settings, passes them on unchanged, or refuses them. A field
// that changes the answer is never ignored silently.
import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { DRY_RUN } from '../provider-fetch.ts';
import { NOT_SUPPORTED, type TranslationRequest, UnsupportedField } from '../translation.ts';
import type { ChatOptions } from './chat-options.ts';
import type { ChatRequest } from './request.ts';

export type ChatSettings = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'headers'>;

/** Fields with an AI SDK setting; a maker that takes them under OpenAI's name gets them on the wire instead. */
const SETTINGS: { readonly [field: string]: keyof ChatSettings } = {
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  stop: 'stopSequences',
  seed: 'seed',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  reasoning_effort: 'reasoning',
  response_format: 'responseFormat',
  tools: 'tools',
  tool_choice: 'toolChoice',
};

type Convert = (request: ChatRequest, target: { maker: string; chatOptions: ChatOptions }) => unknown;

/** The values of settings whose shape differs from the field's; undefined leaves the setting out. */
const CONVERTED: { readonly [field: string]: Convert } = {
  stop: ({ stop }) => (typeof stop === 'string' ? [stop] : stop),
  response_format: ({ response_format: format }) => responseFormatOf(format),
  tools: ({ tools }, { maker, chatOptions }) =>
    tools?.length
      ? tools.map((tool, index) => toolOf(tool, index, chatOptions.cacheControl ? maker : null))
      : undefined,
  tool_choice: ({ tool_choice: choice }) => toolChoiceOf(choice),
};

/** Fields that the router or another translation step reads. */
const READ_ELSEWHERE = new Set(['messages', 'stream', 'stream_options']);

/** Metadata that does not change the answer: sent if the maker supports it, otherwise dropped (docs/catalog.md). */
const NOTES = new Set(['metadata', 'prompt_cache_key', 'safety_identifier', 'store', 'user']);

/** OpenAI fields without a setting, and their values that have no effect. */
const OPENAI_ONLY: { readonly [field: string]: readonly unknown[] } = {
  audio: [],
  function_call: [],
  functions: [],
  logit_bias: [],
  logprobs: [false],
  modalities: [],
  n: [1],
  parallel_tool_calls: [true],
  prediction: [],
  service_tier: ['auto', 'default'],
  top_logprobs: [0],
  verbosity: ['medium'],
  web_search_options: [],
};

/** @throws UnsupportedField for a known field that this maker does not support. */
export function toSettings(
  request: ChatRequest,
  { maker, providerOptions, passOn }: TranslationRequest,
  chatOptions: ChatOptions,
): ChatSettings {
  for (const name of providerOptions) requireAllowed(name, `provider_options.${name}`, chatOptions);
  const onWire = new Set(chatOptions.onWire);
  const settings: ChatSettings = chatOptions.defaults
    ? { providerOptions: { [maker]: chatOptions.defaults } }
    : {};
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || READ_ELSEWHERE.has(field)) continue;
    if (ownOf(OPENAI_ONLY, field)?.includes(value) || isTextOnly(field, value)) continue;
    const known = Object.hasOwn(OPENAI_ONLY, field) || NOTES.has(field);
    const name = ownOf(SETTINGS, field);
    const option = ownOf(chatOptions.options ?? {}, field);
    if (option) settings.providerOptions = withOption(settings.providerOptions, maker, option(value));
    const convert = ownOf(CONVERTED, field);
    if (onWire.has(field)) {
      // No answer can carry the call of a non-function tool.
      if (field === 'tools') convert?.(request, { maker, chatOptions });
      passOn(field);
    } else if (name) {
      const setting = convert ? convert(request, { maker, chatOptions }) : value;
      if (setting !== undefined) Object.assign(settings, { [name]: setting });
    } else if (option) continue;
    else if (!known) {
      requireAllowed(field, field, chatOptions);
      passOn(field); // unknown field: for the maker to judge
    } else if (!NOTES.has(field)) throw new UnsupportedField(field, NOT_SUPPORTED);
  }
  const { outputTokensMin: least = 0 } = chatOptions;
  if ((settings.maxOutputTokens ?? least) < least)
    throw new UnsupportedField(
      'max_tokens',
      `This model needs ${least} output tokens or more. Raise max_tokens or the budget.`,
    );
  return settings;
}

/** @throws UnsupportedField for a member of the maker's own body that callers may not set */
function requireAllowed(member: string, at: string, { refused = {} }: ChatOptions): void {
  const advice = ownOf(refused, member);
  if (advice !== undefined) throw new UnsupportedField(at, advice);
}

/** The value in a table; callers may name a field like a member of every object, such as `constructor`. */
function ownOf<T>(table: Readonly<Record<string, T>>, field: string): T | undefined {
  return Object.hasOwn(table, field) ? table[field] : undefined;
}

const DRY_RUN_PROMPT: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: '.' }] }];

/** Calls the model with a prompt of one character and a fetch without network. */
export function callWithoutNetwork(model: LanguageModelV4, settings: ChatSettings) {
  return model.doStream({ ...settings, prompt: DRY_RUN_PROMPT, headers: { [DRY_RUN]: 'true' } });
}

/**
 * Finds the settings that the AI SDK would ignore for this model, before anything is sent. The AI SDK reports them as
 * warnings with the paid answer, so this makes the call without network.
 * @throws UnsupportedField for the first ignored setting.
 */
export async function rejectIgnoredSettings(model: LanguageModelV4, settings: ChatSettings): Promise<void> {
  if (Object.keys(settings).length === 0) return;
  const { stream } = await callWithoutNetwork(model, settings);
  const reader = stream.getReader();
  const { value: first } = await reader.read();
  void reader.cancel().catch(() => {});
  if (first?.type !== 'stream-start') return;
  for (const warning of first.warnings) {
    if (warning.type !== 'unsupported') continue;
    const field = Object.keys(SETTINGS).find((name) => SETTINGS[name] === warning.feature);
    if (field) throw new UnsupportedField(field, warning.details ?? NOT_SUPPORTED);
  }
}

/** A request for text only has no effect, since answers are always text. */
function isTextOnly(field: string, value: unknown): boolean {
  return field === 'modalities' && Array.isArray(value) && value.every((one) => one === 'text');
}

type ProviderOptions = NonNullable<ChatSettings['providerOptions']>;

function withOption(
  options: ProviderOptions | undefined,
  maker: string,
  more: ProviderOptions[string],
): ProviderOptions {
  return { ...options, [maker]: { ...options?.[maker], ...more } };
}

function responseFormatOf(format: ChatRequest['response_format']): ChatSettings['responseFormat'] {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json' };
  const { schema, name, description } = format.json_schema ?? {};
  if (format.type !== 'json_schema')
    throw new UnsupportedField('response_format.type', 'Use text, json_object or json_schema.');
  if (!schema) throw new UnsupportedField('response_format.json_schema.schema', 'Give the JSON Schema.');
  return { type: 'json', schema, ...(name ? { name } : {}), ...(description ? { description } : {}) };
}

type Tool = NonNullable<ChatRequest['tools']>[number];

/** @param caching the maker, if it supports cache marks. */
function toolOf(
  { type, function: declared, cache_control: cache }: Tool,
  index: number,
  caching: string | null,
): LanguageModelV4FunctionTool {
  if (type !== 'function' || !declared)
    throw new UnsupportedField(`tools.${index}.type`, 'Only functions are supported.');
  const { name, description, parameters, strict } = declared;
  return {
    type: 'function',
    name,
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(description ? { description } : {}),
    ...(typeof strict === 'boolean' ? { strict } : {}),
    ...(cache && caching ? { providerOptions: { [caching]: { cacheControl: cache as JSONObject } } } : {}),
  };
}

function toolChoiceOf(choice: ChatRequest['tool_choice']): ChatSettings['toolChoice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice };
  if (typeof choice === 'object' && choice?.type === 'function' && choice.function)
    return { type: 'tool', toolName: choice.function.name };
  throw new UnsupportedField('tool_choice', 'Use auto, none, required or a function.');
}

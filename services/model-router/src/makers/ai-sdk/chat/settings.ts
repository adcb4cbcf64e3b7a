// OpenAI's fields beside the messages: to the AI SDK's settings, onto the wire as they stand, or refused. Nothing that
// changes an answer is left out in silence.
import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { ChatHabits } from '../declaration.ts';
import { REHEARSAL } from '../provider-fetch.ts';
import { type TranslationRequest, UnsupportedField } from '../translation.ts';
import type { ChatRequest } from './request.ts';

export type ChatSettings = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'headers'>;

/** Fields that the AI SDK has a setting for: a maker that takes them under OpenAI's name gets them on the wire instead. */
const TRANSLATED: {
  readonly [field: string]: (request: ChatRequest, to: { maker: string; habits: ChatHabits }) => ChatSettings;
} = {
  max_tokens: ({ max_tokens: max }) => set('maxOutputTokens', max),
  max_completion_tokens: ({ max_completion_tokens: max }) => set('maxOutputTokens', max),
  temperature: ({ temperature }) => set('temperature', temperature),
  top_p: ({ top_p: topP }) => set('topP', topP),
  top_k: ({ top_k: topK }) => set('topK', topK),
  stop: ({ stop }) => set('stopSequences', typeof stop === 'string' ? [stop] : stop),
  seed: ({ seed }) => set('seed', seed),
  presence_penalty: ({ presence_penalty: penalty }) => set('presencePenalty', penalty),
  frequency_penalty: ({ frequency_penalty: penalty }) => set('frequencyPenalty', penalty),
  reasoning_effort: ({ reasoning_effort: effort }) => set('reasoning', effort),
  response_format: ({ response_format: format }) => responseFormatOf(format),
  tools: ({ tools }, { maker, habits }) =>
    tools?.length
      ? { tools: tools.map((tool, index) => toolOf(tool, index, habits.cacheControl ? maker : null)) }
      : {},
  tool_choice: ({ tool_choice: choice }) => toolChoiceOf(choice),
};

/** Fields that are the router's, or that a translation reads elsewhere. */
const READ_ELSEWHERE = new Set(['messages', 'stream', 'stream_options']);

/** Notes for the maker that change no answer: on the wire where it has them, left out where not (docs/catalog.md). */
const NOTES = new Set(['metadata', 'prompt_cache_key', 'safety_identifier', 'store', 'user']);

/** Fields of OpenAI that no setting stands for, and the values that ask for nothing special. */
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

/** What no answer of the AI SDK could carry back, whoever the maker is. */
const UNANSWERABLE = new Set(['audio', 'function_call', 'functions', 'n']);

/** @throws UnsupportedField for a field that we know and this maker cannot serve. */
export function toSettings(
  request: ChatRequest,
  { maker, declaration, passOn }: TranslationRequest,
): ChatSettings {
  const habits: ChatHabits = declaration.chat ?? {};
  const onWire = new Set(habits.onWire);
  const settings: ChatSettings = habits.defaults ? { providerOptions: { [maker]: habits.defaults } } : {};
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || READ_ELSEWHERE.has(field)) continue;
    if (OPENAI_ONLY[field]?.includes(value) || isTextOnly(field, value)) continue;
    const known = field in OPENAI_ONLY || NOTES.has(field);
    if (UNANSWERABLE.has(field)) refuse(field, 'is not served through this maker');
    else if (onWire.has(field)) passOn(field);
    else if (TRANSLATED[field]) Object.assign(settings, TRANSLATED[field](request, { maker, habits }));
    else if (habits.options?.[field])
      settings.providerOptions = withOption(settings.providerOptions, maker, habits.options[field](value));
    else if (!known)
      passOn(field); // the maker's own affair
    else if (!NOTES.has(field)) refuse(field, `${maker} has nothing like it`);
  }
  return settings;
}

const WARNED_FIELDS: { readonly [feature: string]: string } = {
  maxOutputTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stopSequences: 'stop',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  reasoning: 'reasoning_effort',
  responseFormat: 'response_format',
  toolChoice: 'tool_choice',
};

const REHEARSED: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: '.' }] }];

/**
 * Asks the AI SDK what it would leave out of these settings for this very model, before anything is sent: it tells by
 * warnings, and those come with the answer only, when the call has been made and paid. So the call is rehearsed with
 * a prompt of one character and no network behind the fetch.
 * @throws UnsupportedField for the first setting that would be left out.
 */
export async function rehearse(model: LanguageModelV4, settings: ChatSettings): Promise<void> {
  if (Object.keys(settings).length === 0) return;
  const options = { ...settings, prompt: REHEARSED, headers: { [REHEARSAL]: 'true' } };
  const { stream } = await model.doStream(options);
  const reader = stream.getReader();
  const { value: first } = await reader.read();
  void reader.cancel().catch(() => {});
  if (first?.type !== 'stream-start') return;
  for (const warning of first.warnings) {
    if (warning.type !== 'unsupported') continue;
    const field = WARNED_FIELDS[warning.feature];
    if (field) refuse(field, warning.details ?? 'this model does not take it');
  }
}

function refuse(field: string, why: string): never {
  throw new UnsupportedField(field, `${field}: ${why}`);
}

/** Text is all that is answered anyway. */
function isTextOnly(field: string, value: unknown): boolean {
  return field === 'modalities' && Array.isArray(value) && value.every((one) => one === 'text');
}

function set<Name extends keyof ChatSettings>(name: Name, value: ChatSettings[Name] | null): ChatSettings {
  return value === null || value === undefined ? {} : { [name]: value };
}

type ProviderOptions = NonNullable<ChatSettings['providerOptions']>;

function withOption(
  options: ProviderOptions | undefined,
  maker: string,
  more: ProviderOptions[string],
): ProviderOptions {
  return { ...options, [maker]: { ...options?.[maker], ...more } };
}

function responseFormatOf(format: ChatRequest['response_format']): ChatSettings {
  if (!format || format.type === 'text') return {};
  if (format.type === 'json_object') return { responseFormat: { type: 'json' } };
  const { schema, name, description } = format.json_schema ?? {};
  if (format.type !== 'json_schema' || !schema) {
    const field =
      format.type === 'json_schema' ? 'response_format.json_schema.schema' : 'response_format.type';
    refuse(field, 'text, json_object, or json_schema with its schema is needed');
  }
  return {
    responseFormat: {
      type: 'json',
      schema,
      ...(name ? { name } : {}),
      ...(description ? { description } : {}),
    },
  };
}

type Tool = NonNullable<ChatRequest['tools']>[number];

/** @param caching the maker, where it takes marks for its cache. */
function toolOf(
  { type, function: declared, cache_control: cache }: Tool,
  index: number,
  caching: string | null,
): LanguageModelV4FunctionTool {
  if (type !== 'function' || !declared) refuse(`tools.${index}.type`, 'only functions can be passed on');
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

function toolChoiceOf(choice: ChatRequest['tool_choice']): ChatSettings {
  if (choice === 'auto' || choice === 'none' || choice === 'required')
    return { toolChoice: { type: choice } };
  if (typeof choice === 'object' && choice?.type === 'function' && choice.function)
    return { toolChoice: { type: 'tool', toolName: choice.function.name } };
  refuse('tool_choice', 'auto, none, required or a function is needed');
}

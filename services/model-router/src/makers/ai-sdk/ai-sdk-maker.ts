// A maker that is called through its AI SDK provider package: the caller's OpenAI-shaped body in, OpenAI-shaped bytes
// out, so that reading, pricing and streaming are the same as for every other upstream.
import type { ModelType } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { Dispatcher } from 'undici';
import { type Member, topLevelMembers } from '../../answers/json-members.ts';
import { UnusableAnswer } from '../../answers/unusable-answer.ts';
import { answeredExchange, type MadeAnswer } from '../answered-exchange.ts';
import type { Maker, UpstreamRequest } from '../maker.ts';
import { callersFiles } from './callers-files.ts';
import { answerChat } from './chat.ts';
import { answerDecisions } from './decide.ts';
import type { MakerDeclaration } from './declaration.ts';
import { answerEmbeddings } from './embed.ts';
import { errorAnswer, saidBy } from './errors.ts';
import { answerImages } from './image.ts';
import { providerFetch, rawMembers } from './provider-fetch.ts';
import { answerRerank } from './rerank.ts';
import { answerSpeech } from './speech.ts';
import { answerTranscription } from './transcribe.ts';
import type { Translated, Translation } from './translation.ts';

/** How each type is translated; a video is a job, and services/video-worker's. */
const TRANSLATIONS: { readonly [T in ModelType]?: Translation<T> } = {
  language: answerChat,
  embedding: answerEmbeddings,
  image: answerImages,
  speech: answerSpeech,
  transcription: answerTranscription,
  rerank: answerRerank,
  decision: answerDecisions,
};

export interface AiSdkSurroundings {
  /** Reads an upstream's credentials by the name of their variable. */
  secret(name: string): string | undefined;
  /** Connections of all makers together. */
  dispatcher: Dispatcher;
  /** Milliseconds since the epoch. */
  now(): number;
}

export interface AiSdkMakerOptions extends AiSdkSurroundings {
  /** For files that callers name by URL. */
  egress: Egress;
}

export function aiSdkMaker(declaration: MakerDeclaration, on: AiSdkMakerOptions): Maker {
  const { types, baseUrl, apiKeyEnv } = declaration;
  return {
    types,
    defaults: { baseUrl, apiKeyEnv },
    start: (request, sink) => answeredExchange((signal) => answer(declaration, on, request, signal), sink),
  };
}

async function answer(
  declaration: MakerDeclaration,
  on: AiSdkMakerOptions,
  request: UpstreamRequest,
  signal: AbortSignal,
): Promise<MadeAnswer> {
  try {
    const { contentType, body } = await translate(request.type, declaration, on, request, signal);
    return { status: 200, contentType, retryAfterS: null, body: withErrorsOf(body, on.now) };
  } catch (error) {
    return errorAnswer(saidBy(error, on.now));
  }
}

async function translate<T extends ModelType>(
  type: T,
  declaration: MakerDeclaration,
  on: AiSdkMakerOptions,
  sent: UpstreamRequest,
  signal: AbortSignal,
): Promise<Translated> {
  const { name: maker, baseUrl, apiKeyEnv, fields } = declaration;
  const { upstream, body: bytes, requestId } = sent;
  const isJson = type !== 'transcription';
  const spans = isJson ? topLevelMembers(bytes) : new Map<string, Member>();
  const rawOf = (name: string) => {
    const span = spans.get(name);
    return span && bytes.toString('utf8', span.valueStart, span.valueEnd);
  };
  const body = isJson ? bodyOf(bytes) : beside(sent.transcription);
  const members = providerOptions(rawOf('provider_options') ?? sent.transcription?.provider_options);
  let look: ((response: Response) => Response) | null = null;
  const models = await declaration.create({
    baseURL: (upstream.base_url ?? baseUrl).replace(/\/$/, ''),
    apiKey: on.secret(upstream.api_key_env ?? apiKeyEnv) ?? '',
    headers: {},
    fetch: providerFetch({
      dispatcher: on.dispatcher,
      requestId,
      members,
      places: declaration,
      look: (response) => look?.(response) ?? response,
    }),
  });
  const model = models[type]?.(upstream.model);
  const translation: Translation<T> | undefined = TRANSLATIONS[type];
  if (!translation || !model) throw new Error(`the adapter ${maker} does not serve ${type} models`);
  return translation(model, {
    maker,
    declaration,
    sent,
    rules: fields?.[type] ?? {},
    body,
    signal,
    files: callersFiles(on.egress, signal),
    now: on.now,
    passOn(name) {
      const text = rawOf(name) ?? JSON.stringify(body[name]);
      if (text !== undefined && !members.has(name)) members.set(name, text); // provider_options say it more exactly
    },
    put(name, value) {
      if (!members.has(name)) members.set(name, JSON.stringify(value));
    },
    onResponse(taken) {
      look = taken;
    },
  });
}

/** The caller's `provider_options`, member by member, as they stand; those of a form have been read already. */
function providerOptions(given: string | Record<string, unknown> | null | undefined): Map<string, string> {
  const text = typeof given === 'object' ? JSON.stringify(given) : given;
  return text?.startsWith('{') ? rawMembers(Buffer.from(text)) : new Map();
}

/** What was said beside the audio, as far as it is for the maker: the router itself makes the format asked for. */
function beside(params: UpstreamRequest['transcription']): Record<string, unknown> {
  const { media_type, filename, response_format, provider_options, ...fields } = params ?? {};
  return fields;
}

/** Members that are ours to read and no translation's. */
const OURS = ['model', 'models', 'provider_options'] as const;

function bodyOf(bytes: Buffer): Record<string, unknown> {
  const body = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  for (const name of OURS) delete body[name];
  return body;
}

/** An error after the answer began has no status any more: what it says is all there is. */
async function* withErrorsOf(body: AsyncIterable<Uint8Array>, now: () => number): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    const { message } = saidBy(error, now);
    throw new UnusableAnswer(`the stream reported an error: ${message}`, { cause: error });
  }
}

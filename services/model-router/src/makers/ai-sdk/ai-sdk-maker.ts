// A maker that is called through its AI SDK provider package. Requests and answers have OpenAI's shape, so reading,
// pricing and streaming are the same as for every other upstream.
import type { Dialect, ModelType } from '@switchyard/contracts';
import { notifyWhenSent } from '../../http/accepted-requests.ts';
import { type Member, topLevelMembers } from '../../json/json-members.ts';
import { AttemptFailed } from '../failure.ts';
import type { CallOptions, ConnectedDeps, Maker, UpstreamAnswer, UpstreamRequest } from '../maker.ts';
import { UnusableAnswer } from '../unusable-answer.ts';
import { callersFiles } from './callers-files.ts';
import { answerChat } from './chat.ts';
import { answerDecisions } from './decide.ts';
import { type MakerDeclaration, modelsOf } from './declaration.ts';
import { answerEmbeddings } from './embed.ts';
import { failureOfMaker, thrownBeforeRequest } from './errors.ts';
import { answerImages } from './image.ts';
import { passThrough } from './pass-through.ts';
import { providerFetch, rawMembers } from './provider-fetch.ts';
import { answerRerank } from './rerank.ts';
import { answerSpeech } from './speech.ts';
import { answerTranscription } from './transcribe.ts';
import type { Translated, Translation } from './translation.ts';

/** The translation of each type; videos are jobs and belong to services/video-worker. */
const TRANSLATIONS: { readonly [T in ModelType]?: Translation<T> } = {
  language: answerChat,
  embedding: answerEmbeddings,
  image: answerImages,
  speech: answerSpeech,
  transcription: answerTranscription,
  rerank: answerRerank,
  decision: answerDecisions,
};

export function aiSdkMaker(declaration: MakerDeclaration, deps: ConnectedDeps): Maker {
  return {
    speaks: Object.keys(declaration.native ?? {}) as Dialect[],
    call: (request, options) => {
      const dispatcher = notifyWhenSent(deps.dispatcher, options.onAccepted);
      return answer(declaration, { ...deps, dispatcher }, request, options);
    },
  };
}

async function answer(
  declaration: MakerDeclaration,
  deps: ConnectedDeps,
  request: UpstreamRequest,
  options: CallOptions,
): Promise<UpstreamAnswer> {
  try {
    const answered = await (request.native
      ? passThrough(declaration, deps, request, options)
      : translate(request.type, declaration, deps, request, options));
    return { status: 200, retryAfterS: null, ...answered, body: withErrorsOf(answered.body, deps.now) };
  } catch (error) {
    throw new AttemptFailed(failureOfMaker(error, deps.now));
  }
}

async function translate<T extends ModelType>(
  type: T,
  declaration: MakerDeclaration,
  deps: ConnectedDeps,
  sent: UpstreamRequest,
  options: CallOptions,
): Promise<Translated> {
  const { name: maker, fields } = declaration;
  const { upstream, body: bytes, requestId } = sent;
  const isJson = type !== 'transcription';
  const spans = isJson ? topLevelMembers(bytes) : new Map<string, Member>();
  const rawOf = (name: string) => {
    const span = spans.get(name);
    return span && bytes.toString('utf8', span.valueStart, span.valueEnd);
  };
  const body = isJson ? bodyOf(bytes) : beside(sent.transcription);
  const members = providerOptions(rawOf('provider_options') ?? sent.transcription?.provider_options);
  let requested = false;
  let look: ((response: Response) => Response) | null = null;
  const models = await modelsOf(declaration, upstream, {
    secret: deps.secret,
    fetch: providerFetch({
      ...{ dispatcher: deps.dispatcher, egress: deps.egress },
      base: upstream.base_url ?? declaration.baseUrl,
      requestId,
      members,
      places: declaration,
      streams: sent.stream,
      onRequest: () => {
        requested = true;
        options.onRequest();
      },
      look: (response) => look?.(response) ?? response,
    }),
  });
  const model = models[type]?.(upstream.model);
  const translation: Translation<T> | undefined = TRANSLATIONS[type];
  if (!translation || !model) throw new Error(`the adapter ${maker} does not serve ${type} models`);
  const translated = translation(model, {
    maker,
    declaration,
    sent,
    rules: fields?.[type] ?? {},
    body,
    providerOptions: [...members.keys()],
    signal: options.signal,
    files: callersFiles(deps.egress, options),
    now: deps.now,
    passOn(name) {
      const text = rawOf(name) ?? JSON.stringify(body[name]);
      if (text !== undefined && !members.has(name)) members.set(name, text); // provider_options take precedence
    },
    put(name, value) {
      if (!members.has(name)) members.set(name, JSON.stringify(value));
    },
    onResponse(taken) {
      look = taken;
    },
  });
  return translated.catch((error: unknown) => {
    throw requested || options.signal.aborted ? error : thrownBeforeRequest(error);
  });
}

/** The caller's `provider_options`, unparsed, by member; those of a form are parsed already. */
function providerOptions(given: string | Record<string, unknown> | null | undefined): Map<string, string> {
  const text = typeof given === 'object' ? JSON.stringify(given) : given;
  return text?.startsWith('{') ? rawMembers(Buffer.from(text)) : new Map();
}

/** The fields beside the audio that the maker needs; the router itself produces the requested format. */
function beside(params: UpstreamRequest['transcription']): Record<string, unknown> {
  const { media_type, filename, response_format, provider_options, ...fields } = params ?? {};
  return fields;
}

/** Members that only the router reads. */
const OURS = ['model', 'models', 'provider_options'] as const;

function bodyOf(bytes: Buffer): Record<string, unknown> {
  const body = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  for (const name of OURS) delete body[name];
  return body;
}

/** An error after the start of the answer has no status, only its message. */
async function* withErrorsOf(body: AsyncIterable<Uint8Array>, now: () => number): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    const { message, said = message } = failureOfMaker(error, now);
    throw new UnusableAnswer(`the stream reported an error: ${said}`, { cause: error });
  }
}

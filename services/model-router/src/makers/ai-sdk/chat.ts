// Chat completions: converts OpenAI's request for an AI SDK language model, and its answer to a completion or chunks. The
// steps are in chat/: request -> prompt and settings, answer -> completion or chunks, with its usage.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { ChunkMaker } from './chat/chunks.ts';
import { type CompletionFrame, toCompletion } from './chat/completion.ts';
import { withExactArguments } from './chat/exact-arguments.ts';
import { limitThinking } from './chat/limit-thinking.ts';
import { toPrompt } from './chat/prompt.ts';
import { readChatRequest } from './chat/request.ts';
import { rejectIgnoredSettings, toSettings } from './chat/settings.ts';
import { chatOptionsOf } from './declaration.ts';
import { jsonAnswer, type Translated, type TranslationRequest } from './translation.ts';

export async function answerChat(model: LanguageModelV4, request: TranslationRequest): Promise<Translated> {
  const { maker, declaration, sent, signal, files } = request;
  const chatOptions = chatOptionsOf(declaration, sent.upstream.model);
  const chat = readChatRequest(request.body);
  const given = toSettings(chat, request, chatOptions);
  const settings = await limitThinking(model, given, { maker, chatOptions });
  await rejectIgnoredSettings(model, settings);
  const prompt = await toPrompt(chat.messages, { maker, model, chatOptions, files });
  const options: LanguageModelV4CallOptions = { ...settings, prompt, abortSignal: signal };
  const frame: CompletionFrame = {
    id: `chatcmpl-${sent.requestId}`,
    model: sent.upstream.model,
    created: Math.floor(request.now() / 1000),
  };
  if (!sent.stream) {
    const answer = settings.tools ? captureAnswerText(request) : null;
    const result = await model.doGenerate(options);
    const content = answer ? withExactArguments(result.content, await answer()) : result.content;
    return jsonAnswer(toCompletion({ ...result, content }, frame, chatOptions));
  }
  const { stream } = await model.doStream({ ...options, includeRawChunks: true });
  return streamed(stream, new ChunkMaker(frame, chatOptions));
}

/** Reads the text of a whole answer in parallel with the provider package. */
function captureAnswerText({ onResponse }: TranslationRequest): () => Promise<string> {
  let text = Promise.resolve('{}');
  onResponse((response) => {
    text = response.clone().text();
    text.catch(() => {}); // the package reads the same bytes and reports the error
    return response;
  });
  return () => text;
}

/** Waits for the first content: an error before it still gets an HTTP status, so a fallback is possible. */
async function streamed(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  maker: ChunkMaker,
): Promise<Translated> {
  const parts = stream[Symbol.asyncIterator]();
  const first: object[] = [];
  while (first.length === 0) {
    const { done, value } = await parts.next();
    if (done) {
      maker.end();
      break;
    }
    first.push(...maker.chunksOf(value));
  }
  return { contentType: 'text/event-stream; charset=utf-8', body: serverSentEvents(first, parts, maker) };
}

async function* serverSentEvents(
  first: readonly object[],
  parts: AsyncIterableIterator<LanguageModelV4StreamPart>,
  maker: ChunkMaker,
): AsyncGenerator<Uint8Array> {
  for (const chunk of first) yield event(JSON.stringify(chunk));
  for await (const part of parts)
    for (const chunk of maker.chunksOf(part)) yield event(JSON.stringify(chunk));
  maker.end();
  yield event('[DONE]');
}

function event(data: string): Uint8Array {
  return Buffer.from(`data: ${data}\n\n`);
}

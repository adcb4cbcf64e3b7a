// The local models: no key, no network. They answer in OpenAI's shapes, so that the router treats them exactly like an
// OpenAI-compatible upstream; the catalog entries are in ../../catalog/local.yaml.
import type { ModelType } from '@switchyard/contracts';
import { answerChat } from './chat/answer-chat.ts';
import { answerDecisions } from './decide/answer-decisions.ts';
import { answerEmbeddings } from './embed/answer-embeddings.ts';
import { answerImages } from './image/answer-images.ts';
import { type LocalAnswer, refusalAnswer } from './local-answer.ts';
import { LocalRefusal } from './local-refusal.ts';
import type { LocalRequest } from './local-request.ts';
import { answerRerank } from './rerank/answer-rerank.ts';
import { answerSpeech } from './speech/answer-speech.ts';
import { answerTranscription, type TranscriptionCall } from './transcribe/answer-transcription.ts';
import type { Places } from './transcribe/places.ts';

export type { LocalAnswer } from './local-answer.ts';
export { Places } from './transcribe/places.ts';

export interface LocalCall {
  type: ModelType;
  /** The upstream's own name in the catalog: `chat`, `embed` … */
  model: string;
  /** The caller's JSON, byte for byte; of a transcription the audio's bytes. */
  body: Uint8Array;
  /** Of a transcription: what the caller said beside the audio (language, prompt …). */
  params?: Record<string, unknown>;
  /** Bounds the transcriptions that run at once; one for a process. Without it there is no bound. */
  places?: Places;
  stream: boolean;
  /** Aborted when the caller goes away: work stops at the next step with the signal's reason. */
  signal: AbortSignal;
  /** Milliseconds since the epoch. */
  now: () => number;
}

type LocalModel = (request: LocalRequest) => LocalAnswer | Promise<LocalAnswer>;

const LOCAL_MODELS: Partial<Record<ModelType, Readonly<Record<string, LocalModel>>>> = {
  language: { chat: answerChat },
  embedding: { embed: answerEmbeddings },
  decision: { decide: answerDecisions },
  image: { image: answerImages },
  rerank: { rerank: answerRerank },
  speech: { speech: answerSpeech },
};

/**
 * Answers one call. What is wrong with the request becomes an answer with an error status and OpenAI's error body.
 * @throws the signal's reason when the caller is gone.
 */
export async function answerLocally(call: LocalCall): Promise<LocalAnswer> {
  const { type, model, body, params = {}, places, stream, signal, now } = call;
  signal.throwIfAborted();
  try {
    if (type === 'transcription' && model === 'transcribe')
      return await transcribe(places, { audio: body, params, signal });
    const answer = LOCAL_MODELS[type]?.[model];
    if (!answer)
      throw new LocalRefusal(404, 'model_not_found', `there is no local ${type} model "${model}"`, 'model');
    return await answer({ body: parseJson(body), stream, signal, now });
  } catch (error) {
    if (error instanceof LocalRefusal) return refusalAnswer(error);
    throw error;
  }
}

function transcribe(places: Places | undefined, call: TranscriptionCall): Promise<LocalAnswer> {
  const work = () => answerTranscription(call);
  return places ? places.run(call.signal, work) : work();
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw new LocalRefusal(400, 'invalid_json', 'the body is not JSON that can be read', null, { cause });
  }
}

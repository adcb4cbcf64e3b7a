// One call of a local model, of any type but video. The answer has OpenAI's shape, so that the router treats the local
// models exactly like an OpenAI-compatible upstream.
import type { ModelType } from '@switchyard/contracts';
import { Places } from '@switchyard/service';
import { answerChat, type LocalChatRequest } from './chat/answer-chat.ts';
import { SchemaWorker } from './chat/schema/schema-worker.ts';
import { answerDecisions } from './decide/answer-decisions.ts';
import { answerEmbeddings } from './embed/answer-embeddings.ts';
import { answerImages } from './image/answer-images.ts';
import { type LocalAnswer, refusalAnswer } from './local-answer.ts';
import { LocalRefusal } from './local-refusal.ts';
import { answerRerank } from './rerank/answer-rerank.ts';
import { answerSpeech } from './speech/answer-speech.ts';
import { answerTranscription } from './transcribe/answer-transcription.ts';

export interface LocalCall {
  type: ModelType;
  /** The upstream's own name in the catalog: `chat`, `embed` … */
  model: string;
  /** The caller's JSON, byte for byte; for a transcription, the audio. */
  body: Uint8Array;
  /** For a transcription: the caller's other fields (language, prompt …). */
  params?: Record<string, unknown>;
  stream: boolean;
  /** Aborted when the caller goes away: work stops at the next step with the signal's reason. */
  signal: AbortSignal;
  /** Called when work on the answer begins, after any wait for a place. */
  begun?: () => void;
}

interface LocalModels {
  /**
   * Answers one call. An error of the request becomes an answer with an error status and OpenAI's error body.
   * @throws the signal's reason when the caller is gone.
   */
  answer: (call: LocalCall) => Promise<LocalAnswer>;
}

interface Deps {
  /** Milliseconds since the epoch. */
  now: () => number;
  transcriptions: Places;
  speeches: Places;
  schemas: SchemaWorker;
}

/** Transcriptions that run at once in a process: each takes a core and 100 MB, the others wait their turn. */
const TRANSCRIPTIONS_AT_ONCE = 2;
/** Speeches that run at once: two programs each, until the caller has read nearly all; the others wait their turn. */
const SPEECHES_AT_ONCE = 8;

type LocalModel = (request: LocalChatRequest) => LocalAnswer | Promise<LocalAnswer>;

const LOCAL_MODELS: Partial<Record<ModelType, Readonly<Record<string, LocalModel>>>> = {
  language: { chat: answerChat },
  embedding: { embed: answerEmbeddings },
  decision: { decide: answerDecisions },
  image: { image: answerImages },
  rerank: { rerank: answerRerank },
};

/** The local models of a process. They share bounds of transcriptions and speeches, and a thread that fills schemas. */
export function createLocalModels({ now }: { now: () => number }): LocalModels {
  const deps = {
    now,
    transcriptions: new Places({ max: TRANSCRIPTIONS_AT_ONCE }),
    speeches: new Places({ max: SPEECHES_AT_ONCE }),
    schemas: new SchemaWorker(),
  };
  return {
    async answer(call) {
      call.signal.throwIfAborted();
      try {
        return await answerLocally(call, deps);
      } catch (error) {
        if (error instanceof LocalRefusal) return refusalAnswer(error);
        throw error;
      }
    },
  };
}

async function answerLocally(call: LocalCall, deps: Deps): Promise<LocalAnswer> {
  const { now, transcriptions, speeches, schemas } = deps;
  const { type, model, body, params = {}, stream, signal, begun = () => {} } = call;
  if (type === 'transcription' && model === 'transcribe')
    return transcriptions.run(signal, () => {
      begun();
      return answerTranscription({ audio: body, params, signal });
    });
  if (type === 'speech' && model === 'speech')
    return answerSpeech({ body: parseJson(body), signal, begun, places: speeches });
  const answer = LOCAL_MODELS[type]?.[model];
  if (!answer)
    throw new LocalRefusal(404, 'model_not_found', `there is no local ${type} model "${model}"`, 'model');
  begun();
  return answer({ body: parseJson(body), stream, signal, now, schemas });
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw new LocalRefusal(400, 'invalid_json', 'the body is not valid JSON', null, { cause });
  }
}

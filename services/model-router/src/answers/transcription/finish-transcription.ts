// Converts a maker's transcription (OpenAI's verbose_json) to the requested format; sets our model name,
// the true length of the audio and its cost.
import {
  type CatalogModel,
  type TranscriptionAnswer,
  type TranscriptionFormat,
  type TranscriptionParams,
  transcriptionAnswer,
} from '@switchyard/contracts';
import { isJsonObject } from '../../json/is-json-object.ts';
import { ReportedError, readWhole, UnusableAnswer } from '../../makers/unusable-answer.ts';
import type { Price } from '../../spending/pricing.ts';
import { withCost } from '../usage-with-cost.ts';
import { type Cue, toSrt, toVtt } from './subtitles.ts';

interface TranscriptionToFinish {
  model: CatalogModel;
  /** The maker's answer, JSON. */
  answer: Buffer;
  params: TranscriptionParams;
  /** Measured length of the audio. */
  seconds: number;
  price: Price;
}

interface Rendered {
  contentType: string;
  body: Buffer;
}

/** @throws UnusableAnswer, ReportedError */
export function finishTranscription(finished: TranscriptionToFinish): Rendered {
  const answer = readAnswer(finished.answer);
  const format = finished.params.response_format ?? 'json';
  return { contentType: CONTENT_TYPES[format], body: Buffer.from(RENDER[format](answer, finished)) };
}

const CONTENT_TYPES: Readonly<Record<TranscriptionFormat, string>> = {
  json: 'application/json',
  verbose_json: 'application/json',
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
};

type Render = (answer: TranscriptionAnswer, finished: TranscriptionToFinish) => string;

const RENDER: Readonly<Record<TranscriptionFormat, Render>> = {
  json: toJson,
  verbose_json: toVerboseJson,
  text: ({ text }) => `${text}\n`,
  srt: (answer, { seconds }) => toSrt(cuesOf(answer, seconds)),
  vtt: (answer, { seconds }) => toVtt(cuesOf(answer, seconds)),
};

function readAnswer(bytes: Buffer): TranscriptionAnswer {
  const json = readWhole(bytes, (whole): unknown => JSON.parse(whole.toString('utf8')));
  if (isJsonObject(json) && (json.error ?? null) !== null) throw new ReportedError(json.error);
  const parsed = transcriptionAnswer.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new UnusableAnswer('the answer has no text in it', { cause: parsed.error });
}

function toJson(answer: TranscriptionAnswer, finished: TranscriptionToFinish): string {
  const { segments: _, words: __, task: ___, ...rest } = answer;
  return withUsage(rest, finished);
}

function toVerboseJson(answer: TranscriptionAnswer, finished: TranscriptionToFinish): string {
  const { segments, words, ...rest } = answer;
  const wanted = finished.params.timestamp_granularities ?? ['segment'];
  return withUsage(
    {
      task: 'transcribe',
      ...rest,
      ...(segments && wanted.includes('segment')
        ? { segments: segments.map((segment, id) => ({ id, ...segment })) }
        : {}),
      ...(words && wanted.includes('word') ? { words } : {}),
    },
    finished,
  );
}

function withUsage(
  answer: Omit<TranscriptionAnswer, 'segments' | 'words'>,
  { model, params, seconds, price }: TranscriptionToFinish,
): string {
  const { usage: _theirs, language, ...rest } = answer;
  const members = {
    ...rest,
    language: language ?? params.language ?? '',
    duration: seconds,
    model: model.id,
  };
  return `${JSON.stringify(members).slice(0, -1)},"usage":${withCost({ type: 'duration', seconds }, price)}}`;
}

/** Without times from the maker, the whole text is one cue. */
function cuesOf({ segments, text }: TranscriptionAnswer, seconds: number): Cue[] {
  if (segments && segments.length > 0) return segments;
  return text.trim() === '' ? [] : [{ start: 0, end: seconds, text }];
}

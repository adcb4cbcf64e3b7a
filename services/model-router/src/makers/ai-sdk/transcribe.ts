// Transcription: sends the audio to an AI SDK transcription model and returns OpenAI's `verbose_json`, which the router
// converts to the requested format.
import type { TranscriptionModelV4 } from '@ai-sdk/provider';
import type { TranscriptionParams, transcriptionAnswer } from '@switchyard/contracts';
import type { z } from 'zod';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { jsonAnswer, type Translation } from './translation.ts';
import { refuseIgnored } from './warnings.ts';

const FIELDS: FieldsOfType = {
  read: ['timestamp_granularities'],
  known: ['language', 'prompt', 'temperature', 'include', 'chunking_strategy'],
};

const FALLBACK_MEDIA_TYPE = 'application/octet-stream';

export const answerTranscription: Translation<'transcription'> = async (model, request) => {
  const { timestamp_granularities: granularities } = fieldsFor<TranscriptionParams>(request, FIELDS);
  const { words: wordsOf } = request.rules;
  const result = await model.doGenerate({
    audio: request.sent.body,
    mediaType: request.sent.transcription?.media_type ?? FALLBACK_MEDIA_TYPE,
    // Makers that always return words need no option; the AI SDK's option is for the others.
    ...(granularities === undefined || wordsOf?.always ? {} : { timestampGranularities: granularities }),
    providerOptions: { ...request.rules.options },
    abortSignal: request.signal,
  });
  refuseIgnored(result.warnings, { timestamp_granularities: granularities });
  const words = wordsOf?.read(result.response.body) ?? [];
  const answer: z.input<typeof transcriptionAnswer> = {
    text: result.text,
    language: result.language ?? null,
    duration: result.durationInSeconds ?? null,
    segments: wordsOf?.always ? segmentsOf(words) : segments(result),
    ...(words.length > 0 && granularities?.includes('word')
      ? { words: words.map((one) => ({ ...one })) }
      : {}),
  };
  return jsonAnswer(answer);
};

export interface Word {
  word: string;
  start: number;
  end: number;
}

/** How to read the words in a maker's answer. */
export interface WordsOfAnswer {
  /** The maker returns words without segments; segments are built from the words. */
  readonly always: boolean;
  read(answer: unknown): Word[];
}

function segments({ segments: some }: Awaited<ReturnType<TranscriptionModelV4['doGenerate']>>) {
  return some.map(({ startSecond, endSecond, text }) => ({ start: startSecond, end: endSecond, text }));
}

/** The usual maximum length of a subtitle. */
const SEGMENT_SECONDS_MAX = 7;
const SEGMENT_CHARACTERS_MAX = 84;
/** A pause of this length ends a segment. */
const PAUSE_SECONDS = 1;

/** Groups words into segments, which end at a sentence end, a pause, or the length of a subtitle. */
function segmentsOf(words: readonly Word[]): { start: number; end: number; text: string }[] {
  const made: { start: number; end: number; text: string }[] = [];
  for (const { word, start, end } of words) {
    const last = made.at(-1);
    const goesOn =
      last !== undefined &&
      !/[.?!。？！]$/.test(last.text) &&
      start - last.end < PAUSE_SECONDS &&
      end - last.start <= SEGMENT_SECONDS_MAX &&
      last.text.length + word.length < SEGMENT_CHARACTERS_MAX;
    if (!goesOn) made.push({ start, end, text: word });
    else {
      last.text += ` ${word}`;
      last.end = end;
    }
  }
  return made;
}

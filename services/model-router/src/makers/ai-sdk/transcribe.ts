// Transcription: the audio to an AI SDK transcription model, and its answer in OpenAI's `verbose_json`, of which the
// router makes the format that the caller asked for.
import type { TranscriptionModelV4 } from '@ai-sdk/provider';
import type { transcriptionAnswer } from '@switchyard/contracts';
import { z } from 'zod';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { jsonAnswer, type Translation } from './translation.ts';
import { refuseWhatWasLeftOut } from './warnings.ts';

const FIELDS: FieldsOfType = {
  read: ['timestamp_granularities'],
  known: ['language', 'prompt', 'temperature', 'include', 'chunking_strategy'],
};

const fields = z.looseObject({
  timestamp_granularities: z.array(z.enum(['word', 'segment'])).optional(),
});

const FALLBACK_MEDIA_TYPE = 'application/octet-stream';

export const answerTranscription: Translation<'transcription'> = async (model, request) => {
  const { timestamp_granularities: granularities } = fields.parse(fieldsFor(request, FIELDS));
  const { words: wordsOf } = request.rules;
  const result = await model.doGenerate({
    audio: request.sent.body,
    mediaType: request.sent.transcription?.media_type ?? FALLBACK_MEDIA_TYPE,
    // Makers that tell words always do so; the AI SDK's own option is for one that must be asked.
    ...(granularities === undefined || wordsOf?.always ? {} : { timestampGranularities: granularities }),
    providerOptions: { ...request.rules.options },
    abortSignal: request.signal,
  });
  refuseWhatWasLeftOut(result.warnings, { timestamp_granularities: granularities });
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

/** How the words of a maker's own answer are read. */
export interface WordsOfAnswer {
  /** The maker tells words and no segments: those are made of them. */
  readonly always: boolean;
  read(answer: unknown): Word[];
}

function segments({ segments: some }: Awaited<ReturnType<TranscriptionModelV4['doGenerate']>>) {
  return some.map(({ startSecond, endSecond, text }) => ({ start: startSecond, end: endSecond, text }));
}

/** A subtitle is no longer than this, by the habits of the trade. */
const SEGMENT_SECONDS_MAX = 7;
const SEGMENT_CHARACTERS_MAX = 84;
/** A pause that ends a segment. */
const PAUSE_SECONDS = 1;

/** Words as segments: up to the end of a sentence, a pause, or what fits a subtitle. */
export function segmentsOf(words: readonly Word[]): { start: number; end: number; text: string }[] {
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

// POST /v1/audio/speech: OpenAI's shape; the answer is the audio itself.
import { z } from 'zod';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

export const SPEECH_INPUT_CHARACTERS_MAX = 32_000;
export const SPEECH_FORMATS = ['mp3', 'wav', 'opus', 'pcm'] as const;

/** What is charged: Unicode characters, not UTF-16 units, so that an emoji is one. */
export function spokenCharacters(input: string): number {
  return [...input].length;
}

export const speechRequest = z
  .looseObject({
    ...modelChoice,
    input: z
      .string()
      .min(1)
      .refine((input) => spokenCharacters(input) <= SPEECH_INPUT_CHARACTERS_MAX, {
        message: `at most ${SPEECH_INPUT_CHARACTERS_MAX} characters`,
      }),
    /** A name; OpenAI's form `{id}` of a custom voice passes too. */
    voice: z.union([z.string().min(1), z.looseObject({ id: z.string() })]).nullish(),
    response_format: z.enum(SPEECH_FORMATS).nullish(),
    speed: z.number().min(0.25).max(4).nullish(),
    instructions: z.string().nullish(),
    stream_format: z.literal('audio', 'speech streams as audio').nullish(),
    provider_options: z.record(z.string(), z.unknown()).nullish(),
  })
  .refine(namesAModel, NAMES_A_MODEL);

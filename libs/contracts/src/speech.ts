// POST /v1/audio/speech: OpenAI's shape; the answer is the audio itself.
import { z } from 'zod';
import { modelChoice, modelRequest, providerOptions } from './model-choice.ts';

export const SPEECH_INPUT_CHARACTERS_MAX = 32_000;
export const SPEECH_FORMATS = ['mp3', 'wav', 'opus', 'pcm'] as const;

/** What is charged: Unicode characters, not UTF-16 units, so that an emoji is one. */
export function spokenCharacters(input: string): number {
  return [...input].length;
}

/** Characters are counted only in a short text: the count makes a list of them. */
function isSpeakable(input: string): boolean {
  const unitsMax = 2 * SPEECH_INPUT_CHARACTERS_MAX;
  return input.length <= unitsMax && spokenCharacters(input) <= SPEECH_INPUT_CHARACTERS_MAX;
}

export const speechRequest = z
  .looseObject({
    ...modelChoice,
    input: z
      .string()
      .min(1)
      .refine(isSpeakable, { message: `at most ${SPEECH_INPUT_CHARACTERS_MAX} characters` })
      .meta({
        description: 'The text to speak, charged by the character (an emoji is one)',
        maxLength: SPEECH_INPUT_CHARACTERS_MAX,
      }),
    voice: z
      .union([z.string().min(1), z.looseObject({ id: z.string().describe('Id of your own voice') })])
      .nullish()
      .describe('A voice of the model, by name; OpenAI’s `{id}` of your own voice also works'),
    response_format: z
      .enum(SPEECH_FORMATS)
      .nullish()
      .describe('Audio format, if the model supports it; default: the model’s own. Content-Type names it'),
    speed: z.number().min(0.25).max(4).nullish().describe('1 is normal, where the model supports it'),
    instructions: z.string().nullish().describe('Tone and pace in words, where the model supports it'),
    stream_format: z
      .literal('audio', 'speech streams as audio')
      .nullish()
      .describe('Only audio: the sound streams as it is made'),
    provider_options: providerOptions,
  })
  .apply(modelRequest, {
    description: 'OpenAI’s speech. Further fields go to the maker as they are',
    examples: [{ model: 'local/speech', input: 'Good morning.', voice: 'alloy', response_format: 'wav' }],
  });

// POST /v1/audio/transcriptions: audio in, as multipart form data (OpenAI's form) or as base64 in JSON; text out.
import { z } from 'zod';
import { boundedList } from './bounded.ts';
import { dollars } from './dollars.ts';
import { modelChoice, modelRequest, providerOptions } from './model-choice.ts';

/** Bytes of one audio file, decoded: "25 MB" of the interface is 25 MiB of audio, in either form. */
export const AUDIO_BYTES_MAX = 25 * 1024 * 1024;
/** Bytes of all fields of a request except its audio. */
export const TRANSCRIPTION_FIELDS_BYTES_MAX = 256 * 1024;
/** Characters of a prompt. */
const TRANSCRIPTION_PROMPT_LENGTH_MAX = 32_000;
const FILENAME_LENGTH_MAX = 255;
const TIMESTAMP_GRANULARITIES_MAX = 8;

const TRANSCRIPTION_FORMATS = ['json', 'verbose_json', 'text', 'srt', 'vtt'] as const;
export type TranscriptionFormat = (typeof TRANSCRIPTION_FORMATS)[number];
const TIMESTAMP_GRANULARITIES = ['word', 'segment'] as const;

const mediaType = z.string().min(1).max(255);
const filename = z.string().min(1).max(FILENAME_LENGTH_MAX);

const fields = {
  language: z
    .string()
    .min(1)
    .max(64)
    .nullish()
    .describe('Language of the speech, as ISO 639-1 (`en`), or as the model names it'),
  prompt: z
    .string()
    .max(TRANSCRIPTION_PROMPT_LENGTH_MAX)
    .nullish()
    .describe('Words that help the model: names, or the text before this audio'),
  response_format: z
    .enum(TRANSCRIPTION_FORMATS)
    .nullish()
    .describe(
      '`json` (default) or `verbose_json` with segments; `text`, `srt` or `vtt` answer with text alone',
    ),
  temperature: z.number().min(0).max(1).nullish().describe('Randomness, where the model has it'),
  timestamp_granularities: boundedList(z.enum(TIMESTAMP_GRANULARITIES), {
    max: TIMESTAMP_GRANULARITIES_MAX,
  })
    .nullish()
    .describe('What `verbose_json` has times for, if the model gives them; default: segments'),
  stream: z.literal(false, 'transcriptions do not stream').nullish().describe('Transcriptions do not stream'),
  provider_options: providerOptions,
};

/**
 * All fields of a request except its audio and models: the head of the call carries them (`ModelCallHead.params`), its
 * body is the audio. Unknown fields pass.
 */
export const transcriptionParams = z.looseObject({
  ...fields,
  /** Media type of the audio, as declared or derived from its file name: audio/mpeg … */
  media_type: mediaType,
  /** No path; makers read the container from its extension. */
  filename,
});
export type TranscriptionParams = z.infer<typeof transcriptionParams>;

/** The fields of either form except the audio; a missing `media_type` or `filename` is filled in. */
export const transcriptionFields = z
  .looseObject({ ...modelChoice, ...fields, media_type: mediaType.nullish(), filename: filename.nullish() })
  .apply(modelRequest);

/** The JSON form, for the OpenAPI document: the audio is decoded as it comes and never parsed by this. */
export const transcriptionJsonRequest = z
  .looseObject({
    ...modelChoice,
    audio: z
      .string()
      .describe(
        `The audio in base64 (standard, url-safe or a data: URL), at most ${AUDIO_BYTES_MAX} bytes decoded`,
      ),
    media_type: z
      .string()
      .describe(
        'Type of the audio: audio/mpeg, audio/wav, audio/flac, audio/ogg, audio/mp4, audio/webm, audio/aac …',
      ),
    filename: filename.optional().describe('Name of the file for the maker'),
    ...fields,
  })
  .apply(modelRequest, {
    description: 'The audio in JSON. Further fields go to the maker as they are',
    examples: [
      { model: 'local/transcribe', audio: 'UklGRiQAAABXQVZF', media_type: 'audio/wav', language: 'en' },
    ],
  });

/** The multipart form, for the OpenAPI document; lists are given by repeating a field, or as a JSON list. */
export const transcriptionFormRequest = z
  .looseObject({
    ...modelChoice,
    file: z
      .string()
      .describe(`The audio, at most ${AUDIO_BYTES_MAX} bytes; its fields may come before or after it`)
      .meta({ format: 'binary' }),
    language: fields.language,
    prompt: fields.prompt,
    response_format: fields.response_format,
    temperature: fields.temperature,
    'timestamp_granularities[]': fields.timestamp_granularities,
    provider_options: z
      .string()
      .optional()
      .describe('A JSON object, passed on to the model’s maker unchanged'),
  })
  .apply(modelRequest, {
    description: 'OpenAI’s transcription. A list is a repeated field, or a field with a JSON list',
  });

const seconds = (what: string) =>
  z.number().describe(`Seconds from the beginning of the audio to its ${what}`);
const segment = z.looseObject({
  id: z.int().describe('Counts from 0'),
  start: seconds('beginning'),
  end: seconds('end'),
  text: z.string().describe('What was said in it'),
});
const word = z.looseObject({
  word: z.string().describe('One word'),
  start: seconds('beginning'),
  end: seconds('end'),
});

/**
 * What a maker's adapter answers: OpenAI's `verbose_json`, whatever the caller asked for; the router renders json,
 * verbose_json, text, srt and vtt from it. Only `text` is always present.
 */
export const transcriptionAnswer = z.looseObject({
  text: z.string(),
  language: z.string().nullish(),
  /** Seconds, by the maker: shown nowhere, the router measures the file. */
  duration: z.number().nullish(),
  segments: z.array(z.looseObject({ start: z.number(), end: z.number(), text: z.string() })).nullish(),
  words: z.array(word).nullish(),
});
export type TranscriptionAnswer = z.infer<typeof transcriptionAnswer>;

/** What the caller gets for json and verbose_json. */
export const transcriptionResult = z
  .looseObject({
    text: z.string().describe('What was said'),
    language: z.string().describe('As the model or else the caller names it; empty if neither does'),
    duration: z.number().describe('Seconds of audio, measured from the file'),
    model: z.string().describe('The model that served'),
    usage: z.looseObject({
      type: z.literal('duration').describe('Always duration, as in OpenAI’s API'),
      seconds: z.number().describe('Seconds of audio that are charged'),
      cost: dollars,
    }),
    segments: z.array(segment).optional().describe('With `verbose_json`, if the model gives them'),
    words: z
      .array(word)
      .optional()
      .describe('With `verbose_json` and granularity `word`, if the model gives them'),
  })
  .meta({ description: 'The text of `json` and `verbose_json`' });

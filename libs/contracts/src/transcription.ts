// POST /v1/audio/transcriptions: audio in, as multipart form data (OpenAI's form) or as base64 in JSON; text out.
import { z } from 'zod';
import { dollars } from './dollars.ts';
import { modelChoice, NAMES_A_MODEL, namesAModel } from './model-choice.ts';

/** Bytes of one audio file, decoded: "25 MB" of the interface is 25 MiB of audio, in either form. */
export const AUDIO_BYTES_MAX = 25 * 1024 * 1024;
/** Bytes of all that a request says beside its audio. */
export const TRANSCRIPTION_FIELDS_BYTES_MAX = 256 * 1024;
/** Characters of a prompt. */
export const TRANSCRIPTION_PROMPT_LENGTH_MAX = 32_000;
const FILENAME_LENGTH_MAX = 255;

export const TRANSCRIPTION_FORMATS = ['json', 'verbose_json', 'text', 'srt', 'vtt'] as const;
export type TranscriptionFormat = (typeof TRANSCRIPTION_FORMATS)[number];
export const TIMESTAMP_GRANULARITIES = ['word', 'segment'] as const;

const fields = {
  /** ISO 639-1 (`en`), or a name or locale that the model takes. */
  language: z.string().min(1).max(64).nullish(),
  prompt: z.string().max(TRANSCRIPTION_PROMPT_LENGTH_MAX).nullish(),
  response_format: z.enum(TRANSCRIPTION_FORMATS).nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  timestamp_granularities: z.array(z.enum(TIMESTAMP_GRANULARITIES)).max(8).nullish(),
  stream: z.literal(false, 'transcriptions do not stream').nullish(),
  /** Passed to the maker unchanged. */
  provider_options: z.record(z.string(), z.unknown()).nullish(),
};

/**
 * All that a request says beside its audio and its models: the head of the call carries it (`ModelCallHead.params`), whose
 * body is the audio itself. Further fields pass.
 */
export const transcriptionParams = z.looseObject({
  ...fields,
  /** Of the audio, as told, or as its file's name says: audio/mpeg … */
  media_type: z.string().min(1).max(255),
  /** Without a path; makers tell the container by its ending. */
  filename: z.string().min(1).max(FILENAME_LENGTH_MAX),
});
export type TranscriptionParams = z.infer<typeof transcriptionParams>;

/** The fields beside the audio as either form brings them; what is missing of `media_type` and `filename` is filled in. */
export const transcriptionFields = z
  .looseObject({
    ...modelChoice,
    ...fields,
    media_type: z.string().min(1).max(255).nullish(),
    filename: z.string().min(1).max(FILENAME_LENGTH_MAX).nullish(),
  })
  .refine(namesAModel, NAMES_A_MODEL);

/** The JSON form, for the OpenAPI document: the audio is decoded as it comes and never parsed by this. */
export const transcriptionJsonRequest = z
  .looseObject({
    ...modelChoice,
    audio: z
      .string()
      .describe(
        `Base64 (standard or url-safe, a data: URL too) of at most ${AUDIO_BYTES_MAX} bytes of audio`,
      ),
    media_type: z
      .string()
      .describe('audio/mpeg, audio/wav, audio/flac, audio/ogg, audio/mp4, audio/webm, audio/aac …'),
    filename: z.string().max(FILENAME_LENGTH_MAX).optional(),
    ...fields,
  })
  .refine(namesAModel, NAMES_A_MODEL);

/** The multipart form, for the OpenAPI document; lists are given by repeating a field, or as a JSON list. */
export const transcriptionFormRequest = z.looseObject({
  ...modelChoice,
  file: z
    .string()
    .meta({ format: 'binary' })
    .describe(`The audio, at most ${AUDIO_BYTES_MAX} bytes; fields may come before or after it`),
  language: fields.language,
  prompt: fields.prompt,
  response_format: fields.response_format,
  temperature: fields.temperature,
  'timestamp_granularities[]': fields.timestamp_granularities,
  provider_options: z.string().optional().describe('A JSON object'),
});

const segment = z.looseObject({ id: z.int(), start: z.number(), end: z.number(), text: z.string() });
const word = z.looseObject({ word: z.string(), start: z.number(), end: z.number() });

/**
 * What a maker's adapter answers: OpenAI's `verbose_json`, whatever the caller asked for; the router renders json,
 * verbose_json, text, srt and vtt from it. Only `text` is sure to be there.
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
export const transcriptionResult = z.looseObject({
  text: z.string(),
  /** Empty where neither the caller nor the maker said it. */
  language: z.string(),
  /** Seconds of audio, measured from the file. */
  duration: z.number(),
  model: z.string(),
  usage: z.looseObject({ seconds: z.number(), cost: dollars }),
  /** verbose_json: where the model tells them. */
  segments: z.array(segment).optional(),
  words: z.array(word).optional(),
});
export type TranscriptionResult = z.infer<typeof transcriptionResult>;

// Speech: converts OpenAI's request for an AI SDK speech model, and streams the audio.
//
// Provider packages read the whole audio before they return it. When the maker's response is the audio itself, we take it
// from the socket; the package still handles the request, errors and warnings.
import type { SPEECH_FORMATS, speechRequest } from '@switchyard/contracts';
import type { z } from 'zod';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { once, type Translated, type Translation } from './translation.ts';
import { refuseIgnored } from './warnings.ts';

const FIELDS: FieldsOfType = {
  read: ['input', 'voice', 'response_format', 'speed', 'instructions', 'stream_format'],
  known: ['language'],
};

/** OpenAI's default, requested when the caller names no format. */
const FORMAT_DEFAULT = 'mp3';

type SpeechFormat = (typeof SPEECH_FORMATS)[number];

const MEDIA_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  pcm: 'audio/pcm',
};
/** Other types do not name the encoding. */
const NAMES_THE_SOUND = /^(audio\/|application\/ogg)/;

export const answerSpeech: Translation<'speech'> = async (model, request) => {
  const asked = (request.body.response_format ?? FORMAT_DEFAULT) as SpeechFormat;
  const mediaType = MEDIA_TYPES[asked];
  const withFormat = { ...request, body: { ...request.body, response_format: asked } };
  const { input, voice, response_format, speed, instructions } = fieldsFor<z.infer<typeof speechRequest>>(
    withFormat,
    FIELDS,
  );
  let sound: Translated | null = null;
  request.onResponse((response) => {
    const said = response.headers.get('content-type') ?? '';
    if (!response.ok || response.body === null || !/^(audio|application\/(octet-stream|ogg))/.test(said))
      return response;
    sound = { contentType: NAMES_THE_SOUND.test(said) ? said : mediaType, body: response.body };
    return new Response(STAND_IN, { status: response.status, headers: response.headers });
  });
  const { audio, warnings } = await model.doGenerate({
    text: input,
    ...(voice === undefined ? {} : { voice: typeof voice === 'string' ? voice : voice.id }),
    ...(response_format === undefined ? {} : { outputFormat: response_format }),
    ...(speed === undefined ? {} : { speed }),
    ...(instructions === undefined ? {} : { instructions }),
    providerOptions: { ...request.rules.options },
    abortSignal: request.signal,
  });
  refuseIgnored(warnings, { voice, response_format, speed, instructions });
  const bytes = typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio;
  return (sound as Translated | null) ?? { contentType: mediaType, body: once(bytes) };
};

/** The provider package reads this instead of the audio, since it refuses an empty body. */
const STAND_IN = new Uint8Array(1);

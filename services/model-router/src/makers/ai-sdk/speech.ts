// Speech: converts OpenAI's request for an AI SDK speech model, and streams the audio.
//
// Provider packages read the whole audio before they return it. When the maker's response is the audio itself, we take it
// from the socket; the package still handles the request, errors and warnings.
import { z } from 'zod';
import { type FieldsOfType, fieldsFor } from './field-rules.ts';
import { SOUND_HEAD_BYTES, soundType } from './sound-type.ts';
import { once, type Translated, type Translation } from './translation.ts';
import { refuseIgnored } from './warnings.ts';

const FIELDS: FieldsOfType = {
  read: ['input', 'voice', 'response_format', 'speed', 'instructions', 'stream_format'],
  known: ['language'],
};

const fields = z.looseObject({
  input: z.string(),
  voice: z.union([z.string(), z.looseObject({ id: z.string() }).transform(({ id }) => id)]).optional(),
  response_format: z.string().optional(),
  speed: z.number().optional(),
  instructions: z.string().optional(),
});

/** OpenAI's default, requested when the caller names no format. */
const FORMAT_DEFAULT = 'mp3';

export const answerSpeech: Translation<'speech'> = async (model, request) => {
  const asked =
    typeof request.body.response_format === 'string' ? request.body.response_format : FORMAT_DEFAULT;
  const withFormat = { ...request, body: { ...request.body, response_format: asked } };
  const { input, voice, response_format, speed, instructions } = fields.parse(fieldsFor(withFormat, FIELDS));
  let sound: { bytes: AsyncIterable<Uint8Array>; said: string | null } | null = null;
  request.onResponse((response) => {
    const said = response.headers.get('content-type');
    if (
      !response.ok ||
      response.body === null ||
      !/^(audio|application\/(octet-stream|ogg))/.test(said ?? '')
    )
      return response;
    sound = { bytes: response.body, said };
    return new Response(STAND_IN, { status: response.status, headers: response.headers });
  });
  const { audio, warnings } = await model.doGenerate({
    text: input,
    ...(voice === undefined ? {} : { voice }),
    ...(response_format === undefined ? {} : { outputFormat: response_format }),
    ...(speed === undefined ? {} : { speed }),
    ...(instructions === undefined ? {} : { instructions }),
    providerOptions: { ...request.rules.options },
    abortSignal: request.signal,
  });
  refuseIgnored(warnings, { voice, response_format, speed, instructions });
  const taken = sound as { bytes: AsyncIterable<Uint8Array>; said: string | null } | null;
  if (taken !== null) return typed(taken.bytes, taken.said, asked);
  const bytes = typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio;
  return typed(once(bytes), null, asked);
};

/** The provider package reads this instead of the audio, since it refuses an empty body. */
const STAND_IN = new Uint8Array(1);

/** Reads only the bytes that identify the container. */
async function typed(
  bytes: AsyncIterable<Uint8Array>,
  said: string | null,
  asked: string,
): Promise<Translated> {
  const rest = bytes[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < SOUND_HEAD_BYTES) {
    const { done, value } = await rest.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  const contentType = soundType(head, said, asked);
  return { contentType, body: startingWith(head, rest) };
}

async function* startingWith(head: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head;
    for (let one = await rest.next(); !one.done; one = await rest.next()) yield one.value;
  } finally {
    await rest.return?.();
  }
}

// Tools for models: one for each type that a language model has a use for.
import {
  AUDIO_BYTES_MAX,
  chatCompletionRequest,
  decisionsRequest,
  type FileObject,
  imagesRequest,
  type ModelObject,
  modelType,
  rerankRequest,
  ServiceError,
  speechRequest,
  transcriptionJsonRequest,
  videosRequest,
} from '@switchyard/contracts';
import { z } from 'zod';
import { readBody } from './own-api.ts';
import { deliverMedia, imageTypeOf } from './result-media.ts';
import { type Tool, tool } from './tool.ts';

/** Models in one list. */
const MODELS_MAX = 100;
/** Messages of a conversation. */
const MESSAGES_MAX = 1_000;
const PERMISSION = 'models:write';

const model = z.string().min(1).max(256).describe('Id of a model of this type, as list_models shows it');
const store = z
  .boolean()
  .default(false)
  .describe('Also keep the result for a day as a stored file, for copy_file_to_computer or transcribe_audio');

/** An optional field of the API, without its `null`, which not every client supports. */
function optional<S extends z.ZodType>(field: z.ZodOptional<z.ZodNullable<S>>) {
  return field
    .unwrap()
    .unwrap()
    .optional()
    .describe(field.description ?? '');
}

const LISTS: readonly Tool[] = [
  tool({
    name: 'list_models',
    description: 'List the available models of a type, with prices in US dollars and limits.',
    permission: 'any',
    readOnly: true,
    input: z.strictObject({
      type: modelType.describe('Type of the models'),
      after: z.string().optional().describe('Id of the last model of a list that had more'),
    }),
    async run({ type, after }, api) {
      const query = { type, available: 'true', limit: String(MODELS_MAX), ...(after ? { after } : {}) };
      const path = `/v1/models?${new URLSearchParams(query)}`;
      const { data, has_more }: { data: ModelObject[]; has_more: boolean } = await api.json('GET', path);
      const models = data.map(({ id, description, pricing, limits }) => ({
        id,
        description,
        pricing,
        limits,
      }));
      return { result: { models, has_more } };
    },
  }),
];

const chat = chatCompletionRequest.shape;
const decisions = decisionsRequest.shape;
const image = imagesRequest.shape;
const rerank = rerankRequest.shape;
const speech = speechRequest.shape;
const transcription = transcriptionJsonRequest.shape;
const video = videosRequest.shape;

const TEXTS: readonly Tool[] = [
  tool({
    name: 'chat',
    description: 'Ask a language model. It sees nothing but the messages given here.',
    permission: PERMISSION,
    input: z.strictObject({
      model,
      messages: z
        .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
        .min(1)
        .max(MESSAGES_MAX)
        .describe('The conversation so far, oldest first'),
      max_tokens: optional(chat.max_tokens),
      temperature: optional(chat.temperature),
    }),
    async run(input, api) {
      const { choices, usage, ...answer } = await api.json('POST', '/v1/chat/completions', input);
      const { message, finish_reason } = choices[0];
      const text = textOf(message);
      return { result: { model: answer.model, text, finish_reason, usage }, text };
    },
  }),
  tool({
    name: 'rerank',
    description: 'Order texts by their relevance to a query, best first.',
    permission: PERMISSION,
    input: z.strictObject({
      model,
      query: rerank.query,
      documents: rerank.documents,
      top_n: optional(rerank.top_n),
    }),
    run: async (input, api) => ({ result: await api.json('POST', '/v1/rerank', input) }),
  }),
  tool({
    name: 'decide',
    description:
      'Answer questions about a situation, each with a probability: yes or no, one of several, a score.',
    permission: PERMISSION,
    input: z.strictObject({ model, state: decisions.state, questions: decisions.questions }),
    run: async (input, api) => ({ result: await api.json('POST', '/v1/decisions', input) }),
  }),
];

/** The text or the refusal in a message; an upstream may send its text in parts. */
function textOf({ content, refusal }: Said): string {
  const text = Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : content;
  return text || refusal || '';
}

interface Said {
  readonly content?: string | { readonly text?: string }[] | null;
  readonly refusal?: string | null;
}

const MEDIA: readonly Tool[] = [
  tool({
    name: 'generate_image',
    description: 'Draw an image.',
    permission: PERMISSION,
    input: z.strictObject({
      ...{
        model,
        prompt: image.prompt,
        size: optional(image.size),
        aspect_ratio: optional(image.aspect_ratio),
        seed: optional(image.seed),
      },
      store,
    }),
    async run({ store, ...body }, api) {
      const answer = await api.json('POST', '/v1/images/generations', body);
      const bytes = Buffer.from(answer.data[0].b64_json, 'base64');
      const drawn = { bytes, mediaType: imageTypeOf(bytes) ?? 'application/octet-stream' };
      const { about, media } = await deliverMedia(api, drawn, 'image', store);
      return { result: { model: answer.model, ...about, usage: answer.usage }, media };
    },
  }),
  tool({
    name: 'generate_speech',
    description: 'Speak a text.',
    permission: PERMISSION,
    input: z.strictObject({
      ...{ model, input: speech.input, voice: z.string().min(1).optional().describe('A voice of the model') },
      ...{ response_format: optional(speech.response_format), instructions: optional(speech.instructions) },
      store,
    }),
    async run({ store, ...body }, api) {
      const answer = await api.postJson('/v1/audio/speech', body);
      const mediaType = answer.headers['content-type'] ?? 'application/octet-stream';
      const spoken = { bytes: await readBody(answer), mediaType };
      const { about, media } = await deliverMedia(api, spoken, 'speech', store);
      return { result: about, media };
    },
  }),
  tool({
    name: 'transcribe_audio',
    description: 'Transcribe a stored audio file.',
    permission: PERMISSION,
    input: z.strictObject({
      model,
      file_id: z.string().min(1).describe('Id of the stored file'),
      language: optional(transcription.language),
      prompt: optional(transcription.prompt),
    }),
    async run({ file_id, ...fields }, api) {
      const path = `/v1/files/${encodeURIComponent(file_id)}`;
      const { filename, media_type, bytes }: FileObject = await api.json('GET', path);
      if (bytes > AUDIO_BYTES_MAX)
        throw new ServiceError(
          'body_too_large',
          `The file exceeds ${AUDIO_BYTES_MAX} bytes. Use a shorter one.`,
        );
      const content = await api.send('GET', `${path}/content`);
      const body = audioBody({ ...fields, filename, media_type }, content);
      const result = await api.jsonStream('/v1/audio/transcriptions', body);
      return { result, text: result.text };
    },
  }),
  tool({
    name: 'create_video',
    description: 'Start a video job, charged at once and in full; poll it with get_video.',
    permission: PERMISSION,
    input: z.strictObject({
      ...{ model, prompt: video.prompt, duration: video.duration, resolution: optional(video.resolution) },
      ...{
        aspect_ratio: optional(video.aspect_ratio),
        generate_audio: optional(video.generate_audio),
        image: optional(video.image),
      },
    }),
    run: async (input, api) => ({ result: await api.json('POST', '/v1/videos/generations', input) }),
  }),
  tool({
    name: 'get_video',
    description: 'Get a video job: its status and, when completed, a URL that needs no key for an hour.',
    permission: PERMISSION,
    readOnly: true,
    input: z.strictObject({ video_id: z.string().min(1).describe('Id of the video') }),
    run: async ({ video_id }, api) => ({
      result: await api.json('GET', `/v1/videos/${encodeURIComponent(video_id)}`),
    }),
  }),
];

/** The JSON form of a transcription, with the audio encoded as it arrives. */
async function* audioBody(fields: object, audio: AsyncIterable<Buffer>): AsyncGenerator<string> {
  yield `${JSON.stringify(fields).slice(0, -1)},"audio":"`;
  let rest = Buffer.alloc(0); // base64 encodes three bytes at a time
  for await (const piece of audio) {
    const bytes = Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield `${rest.toString('base64')}"}`;
}

export const MODEL_TOOLS: readonly Tool[] = [...LISTS, ...TEXTS, ...MEDIA];

// The call of the playground as code: curl, OpenAI's client and the AI SDK. tests/console.test.ts runs what is shown.
import type { ModelType } from '@switchyard/contracts';
import { toModelMessages } from './model-messages.ts';

export interface ShownCall {
  readonly type: ModelType;
  readonly path: string;
  /** The body as JSON, or the fields of a form. */
  readonly body: Fields;
}

type Fields = Record<string, unknown>;

export const CODE_KINDS = { curl: curlOf, openai: openAiOf, 'AI SDK': aiSdkOf } satisfies Record<
  string,
  (call: ShownCall) => string
>;
export type CodeKind = keyof typeof CODE_KINDS;

/** A file of a form. */
const FILE = /^@/;
const DATA_URL_SHOWN_MAX = 200;

/** As JSON with two blanks; data URLs are shortened. */
function literal(value: unknown, indent = 0): string {
  const shorten = (_name: string, one: unknown) =>
    typeof one === 'string' && one.startsWith('data:') && one.length > DATA_URL_SHOWN_MAX
      ? `${one.slice(0, one.indexOf(',') + 1)}…`
      : one;
  return JSON.stringify(value, shorten, 2).replaceAll('\n', `\n${' '.repeat(indent)}`);
}

/** The members of an object literal, each on its line; those without a value are left out. */
function members(fields: Fields, indent = 2): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const blanks = ' '.repeat(indent);
  return given.map(([name, value]) => `${blanks}${name}: ${literal(value, indent)},`).join('\n');
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const isForm = ({ body }: ShownCall) => FILE.test(String(body.file ?? ''));

function curlOf(call: ShownCall): string {
  const { path, body } = call;
  const parts = isForm(call)
    ? Object.entries(body).map(([name, value]) => `  -F ${quoted(`${name}=${value}`)}`)
    : [`  -H 'Content-Type: application/json'`, `  -d ${quoted(literal(body))}`];
  const output = call.type === 'speech' ? ['  -o speech.wav'] : [];
  const first = `curl ${location.origin}${path} -H "Authorization: Bearer $SWITCHYARD_KEY"`;
  return [first, ...parts, ...output].join(' \\\n');
}

/** What the code may import, by module. */
const IMPORTS = {
  ai: [
    'embedMany',
    'experimental_decide as decide',
    'experimental_generateVideo as generateVideo',
    'generateImage',
    'generateSpeech',
    'jsonSchema',
    'rerank',
    'streamText',
    'tool',
    'transcribe',
  ],
  'node:fs': ['createReadStream'],
  'node:fs/promises': ['readFile', 'writeFile'],
};

/** The program of a client, with imports of the functions that its call uses. */
function program(clientImport: string, client: string, code: string): string {
  const imports = Object.entries(IMPORTS).flatMap(([module, names]) => {
    const used = names.filter((name) => code.includes(`${name.split(' ').at(-1)}(`));
    return used.length === 0 ? [] : [`import { ${used.join(', ')} } from '${module}';`];
  });
  return [clientImport, ...imports, '', client, '', code].join('\n');
}

function openAiOf({ type, path, body }: ShownCall): string {
  const client = `const client = new OpenAI({
  baseURL: '${location.origin}/v1',
  apiKey: process.env.SWITCHYARD_KEY,
});`;
  return program(`import OpenAI from 'openai';`, client, openAiCall(type, path, body));
}

function openAiCall(type: ModelType, path: string, body: Fields): string {
  const given = literal(body);
  const post = `await client.post('${path.replace('/v1', '')}', { body: ${given} })`;
  switch (type) {
    case 'language':
      return `const stream = await client.chat.completions.create(${given});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`;
    case 'image':
      return `const { data } = await client.images.generate(${given});
await writeFile('image.png', Buffer.from(data[0].b64_json, 'base64'));`;
    case 'speech':
      return `const answer = await client.audio.speech.create(${given});
await writeFile('speech.wav', Buffer.from(await answer.arrayBuffer()));`;
    case 'transcription':
      return `const { text } = await client.audio.transcriptions.create({
  model: ${literal(body.model)},
  file: createReadStream(${literal(String(body.file).slice(1))}),
});
console.log(text);`;
    case 'embedding':
      return `const { data } = await client.embeddings.create(${given});
console.log(data.map(({ embedding }) => embedding.length));`;
    case 'video':
      return `let video = ${post};
while (video.status === 'pending') {
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  video = await client.get('/videos/' + video.id);
}
console.log(video.videos);`;
    case 'decision':
    case 'rerank':
      return `console.log(${post});`;
    default:
      return type satisfies never;
  }
}

function aiSdkOf({ type, body }: ShownCall): string {
  const client = `const switchyard = createSwitchyard({
  baseURL: '${location.origin}/v1',
  apiKey: process.env.SWITCHYARD_KEY,
});`;
  return program(
    `import { createSwitchyard } from '@switchyard/ai-provider';`,
    client,
    aiSdkCall(type, body),
  );
}

function aiSdkCall(type: ModelType, body: Fields): string {
  const id = literal(body.model);
  switch (type) {
    case 'language':
      return aiSdkChat(body);
    case 'image':
      return `const { image } = await generateImage({
  model: switchyard.imageModel(${id}),
${members({ prompt: body.prompt, size: body.size })}
});
await writeFile('image.png', image.uint8Array);`;
    case 'speech':
      return `const { audio } = await generateSpeech({
  model: switchyard.speechModel(${id}),
${members({ text: body.input, voice: body.voice, outputFormat: body.response_format })}
});
await writeFile('speech.wav', audio.uint8Array);`;
    case 'transcription':
      return `const { text } = await transcribe({
  model: switchyard.transcriptionModel(${id}),
  audio: await readFile(${literal(String(body.file).slice(1))}),
});
console.log(text);`;
    case 'embedding':
      return `const { embeddings } = await embedMany({
  model: switchyard.embeddingModel(${id}),
${members({ values: body.input })}
});
console.log(embeddings.map(({ length }) => length));`;
    case 'video':
      return `const { video } = await generateVideo({
  model: switchyard.videoModel(${id}),
${members({ prompt: body.prompt, duration: body.duration })}
});
await writeFile('video.mp4', video.uint8Array);`;
    case 'decision': {
      const state = typeof body.state === 'string' ? body.state : [{ type: 'json', value: body.state }];
      return `const { answers } = await decide({
  model: switchyard.decisionModel(${id}),
${members({ state, questions: body.questions })}
});
console.log(answers);`;
    }
    case 'rerank':
      return `const { ranking } = await rerank({
  model: switchyard.rerankingModel(${id}),
${members({ query: body.query, documents: body.documents })}
});
console.log(ranking);`;
    default:
      return type satisfies never;
  }
}

interface OpenAiTool {
  readonly function: { name: string; description?: string; parameters?: unknown };
}

/** For a tool without `parameters`. */
const NO_PARAMETERS = { type: 'object', properties: {} };

/** A member of `tools`; its name may be no identifier. */
function aiSdkTool({ function: { name, description, parameters } }: OpenAiTool): string {
  const about = description ? `description: ${literal(description)}, ` : '';
  const schema = literal(parameters ?? NO_PARAMETERS, 4);
  return `    ${literal(name)}: tool({ ${about}inputSchema: jsonSchema(${schema}) }),\n`;
}

function aiSdkChat({ model, models, messages, tools }: Fields): string {
  const given = members({
    messages: toModelMessages(messages as Parameters<typeof toModelMessages>[0]),
    providerOptions: models === undefined ? undefined : { switchyard: { models } },
  });
  const toolLines = ((tools ?? []) as OpenAiTool[]).map(aiSdkTool);
  const shownTools = toolLines.length === 0 ? '' : `  tools: {\n${toolLines.join('')}  },\n`;
  return `const { textStream } = streamText({
  model: switchyard(${literal(model)}),
${given}
${shownTools}});
for await (const text of textStream) process.stdout.write(text);`;
}

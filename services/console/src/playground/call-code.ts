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

function openAiOf(call: ShownCall): string {
  const { path, body } = call;
  const client = [
    `const client = new OpenAI({`,
    `  baseURL: '${location.origin}/v1',`,
    `  apiKey: process.env.SWITCHYARD_KEY,`,
    `});`,
  ];
  const [imports, lines] = openAiCall(call.type, path, body);
  return [`import OpenAI from 'openai';`, ...imports, '', ...client, '', ...lines].join('\n');
}

type Code = [imports: string[], lines: string[]];

function openAiCall(type: ModelType, path: string, body: Fields): Code {
  const save = `import { writeFile } from 'node:fs/promises';`;
  const given = literal(body);
  switch (type) {
    case 'language':
      return [
        [],
        [
          `const stream = await client.chat.completions.create(${given});`,
          `for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`,
        ],
      ];
    case 'image':
      return [
        [save],
        [
          `const { data } = await client.images.generate(${given});`,
          `await writeFile('image.png', Buffer.from(data[0].b64_json, 'base64'));`,
        ],
      ];
    case 'speech':
      return [
        [save],
        [
          `const answer = await client.audio.speech.create(${given});`,
          `await writeFile('speech.wav', Buffer.from(await answer.arrayBuffer()));`,
        ],
      ];
    case 'transcription':
      return [
        [`import { createReadStream } from 'node:fs';`],
        [
          `const { text } = await client.audio.transcriptions.create({`,
          `  model: ${literal(body.model)},`,
          `  file: createReadStream(${literal(String(body.file).slice(1))}),`,
          `});`,
          `console.log(text);`,
        ],
      ];
    case 'embedding':
      return [
        [],
        [
          `const { data } = await client.embeddings.create(${given});`,
          `console.log(data.map(({ embedding }) => embedding.length));`,
        ],
      ];
    case 'video':
      return [
        [],
        [
          `let video = await client.post('${path.replace('/v1', '')}', { body: ${given} });`,
          `while (video.status === 'pending') {`,
          `  await new Promise((resolve) => setTimeout(resolve, 2_000));`,
          `  video = await client.get('/videos/' + video.id);`,
          `}`,
          `console.log(video.videos);`,
        ],
      ];
    case 'decision':
    case 'rerank':
      return [
        [],
        [
          `const answer = await client.post('${path.replace('/v1', '')}', { body: ${given} });`,
          `console.log(answer);`,
        ],
      ];
    default:
      return type satisfies never;
  }
}

function aiSdkOf({ type, body }: ShownCall): string {
  const [imports, lines] = aiSdkCall(type, body);
  return [
    `import { createSwitchyard } from '@switchyard/ai-provider';`,
    ...imports,
    '',
    `const switchyard = createSwitchyard({`,
    `  baseURL: '${location.origin}/v1',`,
    `  apiKey: process.env.SWITCHYARD_KEY,`,
    `});`,
    '',
    ...lines,
  ].join('\n');
}

/** `const <result> = await <name>({ model, … });` */
function aiCall(result: string, name: string, model: string, options: string): string[] {
  return [`const ${result} = await ${name}({`, `  model: switchyard${model},`, options, `});`];
}

function aiSdkCall(type: ModelType, body: Fields): Code {
  const id = literal(body.model);
  const from = (name: string) => `import { ${name} } from 'ai';`;
  const save = `import { writeFile } from 'node:fs/promises';`;
  switch (type) {
    case 'language':
      return aiSdkChat(body);
    case 'image':
      return [
        [from('generateImage'), save],
        [
          ...aiCall(
            '{ image }',
            'generateImage',
            `.imageModel(${id})`,
            members({ prompt: body.prompt, size: body.size }),
          ),
          `await writeFile('image.png', image.uint8Array);`,
        ],
      ];
    case 'speech':
      return [
        [from('generateSpeech'), save],
        [
          ...aiCall(
            '{ audio }',
            'generateSpeech',
            `.speechModel(${id})`,
            members({ text: body.input, voice: body.voice, outputFormat: body.response_format }),
          ),
          `await writeFile('speech.wav', audio.uint8Array);`,
        ],
      ];
    case 'transcription':
      return [
        [from('transcribe'), `import { readFile } from 'node:fs/promises';`],
        [
          ...aiCall(
            '{ text }',
            'transcribe',
            `.transcriptionModel(${id})`,
            `  audio: await readFile(${literal(String(body.file).slice(1))}),`,
          ),
          `console.log(text);`,
        ],
      ];
    case 'embedding':
      return [
        [from('embedMany')],
        [
          ...aiCall('{ embeddings }', 'embedMany', `.embeddingModel(${id})`, members({ values: body.input })),
          `console.log(embeddings.map(({ length }) => length));`,
        ],
      ];
    case 'video':
      return [
        [from('experimental_generateVideo as generateVideo'), save],
        [
          ...aiCall(
            '{ video }',
            'generateVideo',
            `.videoModel(${id})`,
            members({ prompt: body.prompt, duration: body.duration }),
          ),
          `await writeFile('video.mp4', video.uint8Array);`,
        ],
      ];
    case 'decision': {
      const state = typeof body.state === 'string' ? body.state : [{ type: 'json', value: body.state }];
      return [
        [from('experimental_decide as decide')],
        [
          ...aiCall(
            '{ answers }',
            'decide',
            `.decisionModel(${id})`,
            members({ state, questions: body.questions }),
          ),
          `console.log(answers);`,
        ],
      ];
    }
    case 'rerank':
      return [
        [from('rerank')],
        [
          ...aiCall(
            '{ ranking }',
            'rerank',
            `.rerankingModel(${id})`,
            members({ query: body.query, documents: body.documents }),
          ),
          `console.log(ranking);`,
        ],
      ];
    default:
      return type satisfies never;
  }
}

interface OpenAiTool {
  readonly function: { name: string; description?: string; parameters: unknown };
}

function aiSdkChat({ model, models, messages, tools }: Fields): Code {
  const shown = members({
    messages: toModelMessages(messages as Parameters<typeof toModelMessages>[0]),
    providerOptions: models === undefined ? undefined : { switchyard: { models } },
  });
  const toolLines = ((tools ?? []) as OpenAiTool[]).map(
    ({ function: { name, description, parameters } }) =>
      `    ${name}: tool({ description: ${literal(description)}, inputSchema: jsonSchema(${literal(parameters, 4)}) }),`,
  );
  const withTools = toolLines.length === 0 ? [] : ['  tools: {', ...toolLines, '  },'];
  return [
    [
      `import { ${toolLines.length === 0 ? '' : 'jsonSchema, '}streamText${toolLines.length === 0 ? '' : ', tool'} } from 'ai';`,
    ],
    [
      `const { textStream } = streamText({`,
      `  model: switchyard(${literal(model)}),`,
      shown,
      ...withTools,
      `});`,
      `for await (const text of textStream) process.stdout.write(text);`,
    ],
  ];
}

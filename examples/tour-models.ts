// The tour's models: calls one of each of the eight types, saves the results and shows their costs.
import { setTimeout as sleep } from 'node:timers/promises';
import { type components, dataOf, type Switchyard, SwitchyardError } from '@switchyard/client';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { costOf, dollars } from './client.ts';
import { saved } from './saved.ts';
import { bold, dim, heading, line, waitingLine } from './terminal.ts';

const VIDEO_POLL_MS = 500;
const VIDEO_WAIT_MS_MAX = 5 * 60_000;
const SPOKEN = 'seven three nine one';

export interface Visit {
  client: OpenAI;
  sy: Switchyard;
}

/** Calls one model of each type. Returns the cost in each answer, in dollars. */
export async function visitModels(visit: Visit): Promise<number[]> {
  const costs = [await chat(visit), await embed(visit), await rerank(visit), await decide(visit)];
  costs.push(await draw(visit));
  const sound = await orNone(() => speak(visit));
  if (sound) costs.push(sound.cost, (await orNone(() => listen(visit, sound.wav))) ?? 0);
  costs.push((await orNone(() => film(visit))) ?? 0);
  return costs;
}

/** Skips a step whose model is unavailable. A local model names the program that is missing. */
async function orNone<T>(step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    const { status, message } = error as { status?: number; message: string };
    if (status === undefined || status < 500) throw error;
    line(`not available: ${message}`);
    return undefined;
  }
}

async function chat({ client }: Visit): Promise<number> {
  const content = 'What is 6 times 7?';
  heading('A chat, streamed', `local/chat is asked: ${content}`);
  const messages = [{ role: 'user' as const, content }];
  const stream = await client.chat.completions.create({ model: 'local/chat', messages, stream: true });
  let cost = 0;
  process.stdout.write('  ');
  for await (const chunk of stream) {
    process.stdout.write(bold(chunk.choices[0]?.delta.content ?? ''));
    if (chunk.usage) cost = costOf(chunk.usage);
  }
  console.log();
  line(dim(dollars(cost)));
  return cost;
}

async function embed({ client }: Visit): Promise<number> {
  heading('Vectors', 'local/embed compares three sentences');
  const input = ['A cold wind and heavy rain', 'Rain, and a strong wind', 'Bake the bread for an hour'];
  const { data, usage } = await client.embeddings.create({ model: 'local/embed', input });
  const [first = [], second = [], third = []] = data.map(({ embedding }) => embedding);
  line(`"${input[0]}" ~ "${input[1]}": ${bold(dot(first, second).toFixed(2))}`);
  line(`"${input[0]}" ~ "${input[2]}": ${bold(dot(first, third).toFixed(2))}`);
  line(dim(`${first.length} dimensions, ${usage.prompt_tokens} tokens, ${dollars(costOf(usage))}`));
  return costOf(usage);
}

async function rerank({ sy }: Visit): Promise<number> {
  const query = 'renting a computer';
  heading('A search', `local/rerank finds: ${query}`);
  const documents = [
    'Bread is baked from flour.',
    'Computers are rented by the minute.',
    'Rain falls on the sea.',
  ];
  const body = { model: 'local/rerank', query, documents };
  const { results, usage } = await dataOf(sy.api.POST('/v1/rerank', { body }));
  for (const { index, relevance_score: score } of results) line(`${score.toFixed(3)}  ${documents[index]}`);
  line(dim(dollars(costOf(usage))));
  return costOf(usage);
}

async function decide({ sy }: Visit): Promise<number> {
  const text = 'The parcel never arrived. I want my money back!';
  heading('Decisions', `local/decide reads: ${text}`);
  const { answers, usage } = await dataOf(
    sy.api.POST('/v1/decisions', {
      body: {
        model: 'local/decide',
        state: { text, amount: 120 },
        questions: {
          large: { type: 'boolean', instructions: 'Is the amount over 100?' },
          team: {
            type: 'choice',
            instructions: 'Which team is it for?',
            criteria: { refunds: 'wants money back', sales: 'wants to buy something' },
          },
        },
      },
    }),
  );
  for (const [name, { choice = 'true', probability }] of Object.entries(answers))
    line(`${name.padEnd(6)} ${bold(String(choice))} ${dim(`p = ${probability.toFixed(2)}`)}`);
  line(dim(dollars(costOf(usage))));
  return costOf(usage);
}

async function draw({ client }: Visit): Promise<number> {
  const prompt = 'two red boats on the sea under a yellow sun';
  heading('Pictures', `local/image draws: ${prompt}`);
  const { data = [], usage } = await client.images.generate({
    model: 'local/image',
    prompt,
    n: 2,
    size: '512x512',
  });
  for (const [index, { b64_json = '' }] of data.entries())
    line(bold(await saved(`tour-${index + 1}.png`, Buffer.from(b64_json, 'base64'))));
  line(dim(dollars(costOf(usage))));
  return costOf(usage);
}

async function speak({ client }: Visit): Promise<{ wav: Uint8Array; cost: number }> {
  heading('Sound', `local/speech says: ${SPOKEN}`);
  const response = await client.audio.speech.create({
    model: 'local/speech',
    voice: 'alloy',
    input: SPOKEN,
    response_format: 'wav',
  });
  const wav = new Uint8Array(await response.arrayBuffer());
  const cost = Number(response.headers.get('x-service-cost'));
  line(bold(await saved('tour.wav', wav)));
  line(dim(dollars(cost)));
  return { wav, cost };
}

async function listen({ client }: Visit, wav: Uint8Array): Promise<number> {
  heading('A transcription', 'local/transcribe writes down that sound');
  const { text, usage } = await client.audio.transcriptions.create({
    model: 'local/transcribe',
    file: await toFile(wav, 'tour.wav'),
  });
  line(bold(text));
  line(dim(dollars(costOf(usage))));
  return costOf(usage);
}

type Video = components['schemas']['Video'];

async function film({ sy }: Visit): Promise<number> {
  const prompt = 'a red boat on the sea under a yellow sun';
  heading('A video', `local/video films: ${prompt}`);
  const body = { model: 'local/video', prompt, duration: 2, resolution: '480p', generate_audio: true };
  const video = await ended(sy, await dataOf(sy.api.POST('/v1/videos/generations', { body })));
  if (video.status === 'failed') line(`it failed, and costs nothing: ${video.error?.message}`);
  for (const { url } of video.videos ?? [])
    line(bold(await saved('tour.mp4', new Uint8Array(await (await fetch(url)).arrayBuffer()))));
  line(dim(dollars(costOf(video.usage))));
  return costOf(video.usage);
}

async function ended({ api }: Switchyard, video: Video): Promise<Video> {
  const until = Date.now() + VIDEO_WAIT_MS_MAX;
  const show = waitingLine();
  let latest = video;
  while (latest.status === 'pending') {
    if (Date.now() > until) {
      const error = { code: 'upstream_timeout', message: `${video.id} is still pending` };
      throw new SwitchyardError(error, { status: 504, requestId: null });
    }
    show('rendering …');
    await sleep(VIDEO_POLL_MS);
    latest = await dataOf(api.GET('/v1/videos/{id}', { params: { path: { id: video.id } } }));
  }
  show('');
  return latest;
}

/** The cosine, because the vectors have length 1. */
function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

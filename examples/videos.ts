// A video from words: POST /v1/videos/generations starts a job, GET /v1/videos/{id} shows its status.
//   node examples/videos.ts "a house by the sea"
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf } from '@switchyard/client';
import { dollars, switchyard } from './client.ts';
import { saved } from './saved.ts';

const POLL_MS = 1_000;

const { api } = switchyard();
const prompt = process.argv[2] ?? 'a red boat on the sea under a yellow sun';

let video = await dataOf(
  api.POST('/v1/videos/generations', {
    body: {
      model: process.env.MODEL ?? 'local/video',
      prompt,
      duration: 2,
      resolution: '480p',
      generate_audio: true,
    },
  }),
);
console.log(`${prompt}\n  ${video.id}: ${video.status}, ${video.resolution}`);

while (video.status === 'pending') {
  await sleep(POLL_MS);
  video = await dataOf(api.GET('/v1/videos/{id}', { params: { path: { id: video.id } } }));
}
if (video.status === 'failed') throw new Error(`${video.id} failed: ${video.error?.message}`);

// The address needs no key and expires, so save a copy.
for (const { url, media_type } of video.videos ?? []) {
  const content = new Uint8Array(await (await fetch(url)).arrayBuffer());
  console.log(`  ${await saved('video.mp4', content)}, ${media_type}, ${content.length} bytes`);
}
console.log(`\n${video.usage.seconds} seconds, ${dollars(video.usage.cost)}`);

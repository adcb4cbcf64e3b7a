// A video from words: POST /v1/videos/generations starts a job, GET /v1/videos/{id} shows its status.
//   node examples/videos.ts "a house by the sea"
import { setTimeout as sleep } from 'node:timers/promises';
import { api, dollars } from './client.ts';
import { saved } from './saved.ts';

const POLL_MS = 1_000;

interface Video {
  id: string;
  status: 'pending' | 'completed' | 'failed';
  resolution: string;
  videos?: { media_type: string; url: string }[];
  error?: { message: string };
  usage: { seconds: number; cost: number };
}

const prompt = process.argv[2] ?? 'a red boat on the sea under a yellow sun';

let video = await api<Video>('POST', '/v1/videos/generations', {
  model: process.env.MODEL ?? 'local/video',
  prompt,
  duration: 2,
  resolution: '480p',
  generate_audio: true,
});
console.log(`${prompt}\n  ${video.id}: ${video.status}, ${video.resolution}`);

while (video.status === 'pending') {
  await sleep(POLL_MS);
  video = await api<Video>('GET', `/v1/videos/${video.id}`);
}
if (video.status === 'failed') throw new Error(`${video.id} failed: ${video.error?.message}`);

// The address needs no key and expires, so save a copy.
for (const { url, media_type } of video.videos ?? []) {
  const content = new Uint8Array(await (await fetch(url)).arrayBuffer());
  console.log(`  ${await saved('video.mp4', content)}, ${media_type}, ${content.length} bytes`);
}
console.log(`\n${video.usage.seconds} seconds, ${dollars(video.usage.cost)}`);

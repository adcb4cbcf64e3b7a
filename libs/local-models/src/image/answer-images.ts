// local/image: OpenAI's images request -> PNGs composed of the things that the prompt names, in OpenAI's shape.
import { randomInt } from 'node:crypto';
import { imagesRequest } from '@switchyard/contracts';
import { z } from 'zod';
import { jsonAnswer, type LocalAnswer } from '../local-answer.ts';
import { type LocalRequest, parseRequest } from '../local-request.ts';
import { countTokens } from '../text/tokens.ts';
import { Turns } from '../turns.ts';
import { drawScene } from './draw-scene.ts';
import { imageSize } from './image-size.ts';
import { encodePng } from './png.ts';
import { readPrompt } from './read-prompt.ts';
import { seededRandom } from './seeded-random.ts';

const SEED_MAX = 2 ** 32;

const localImagesRequest = imagesRequest.safeExtend({
  output_format: z.literal('png', 'local/image makes PNG only').nullish(),
});

export async function answerImages({ body, signal, now }: LocalRequest): Promise<LocalAnswer> {
  const request = parseRequest(localImagesRequest, body);
  const { prompt } = request;
  const size = imageSize(request);
  const images = request.n ?? 1;
  const seed = request.seed ?? randomInt(SEED_MAX);
  const turns = new Turns(signal);
  const scene = readPrompt(prompt);
  const data: { b64_json: string }[] = [];
  for (let index = 0; index < images; index += 1) {
    const canvas = await drawScene(scene, prompt, size, seededRandom(seed + index), turns);
    const png = await encodePng(canvas, turns);
    signal.throwIfAborted();
    data.push({ b64_json: png.toString('base64') });
  }
  const inputTokens = countTokens(prompt);
  return jsonAnswer({
    created: Math.floor(now() / 1000),
    output_format: 'png',
    size: `${size.width}x${size.height}`,
    data,
    usage: { images, input_tokens: inputTokens, output_tokens: 0, total_tokens: inputTokens },
  });
}

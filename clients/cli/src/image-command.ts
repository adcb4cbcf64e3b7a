// `switchyard image`: an image, into a file or a pipe.
import { existsSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { dataOf } from '@switchyard/client';
import type { Command } from 'commander';
import { printJson, printResult, wantsJson } from './print.ts';
import { connect } from './settings.ts';

const MODEL_DEFAULT = 'local/image';

interface ImageOptions {
  model: string;
  output?: string;
  size?: string;
}

export function addImageCommand(program: Command): void {
  program
    .command('image')
    .description('draw an image; without a prompt, read it from a pipe')
    .argument('[prompt...]')
    .option('-o, --output <file>', 'where to write it; default: standard output')
    .option('-m, --model <model>', 'a model of type image', MODEL_DEFAULT)
    .option('--size <width>x<height>', 'in pixels; default: what the model prefers')
    .action(async (words: string[], { model, output, size }: ImageOptions, command: Command) => {
      if (output === undefined && process.stdout.isTTY && !wantsJson(command))
        throw new Error('A terminal shows no image. Add -o <file>.');
      const prompt = words.length > 0 ? words.join(' ') : await text(process.stdin);
      const sy = await connect();
      const isNew = output !== undefined && !existsSync(output);
      // Fails before the call, which is charged. Appending keeps an existing file if the call fails.
      await using _writable = output === undefined ? undefined : await open(output, 'a');
      const body = { model, prompt, ...(size === undefined ? {} : { size }) };
      const answer = await dataOf(sy.api.POST('/v1/images/generations', { body })).catch(async (error) => {
        if (isNew) await rm(output, { force: true });
        throw error;
      });
      const image = Buffer.from(answer.data[0]?.b64_json ?? '', 'base64');
      if (output !== undefined) {
        await writeFile(output, image);
        printResult(command, output, answer);
      } else if (wantsJson(command)) printJson(answer);
      else process.stdout.write(image);
    });
}

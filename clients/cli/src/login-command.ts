// `switchyard login`: checks address and key, and keeps them.
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { dataOf } from '@switchyard/client';
import type { Command } from 'commander';
import { printResult } from './print.ts';
import { clientOf, saveSettings, settingsFile } from './settings.ts';

const URL_DEFAULT = 'http://127.0.0.1:8080';

export function addLoginCommand(program: Command): void {
  program
    .command('login')
    .description('keep the address and an API key; the key is asked for, or read from a pipe')
    .option('--url <url>', 'address of the API', process.env.SWITCHYARD_URL || URL_DEFAULT)
    .action(async ({ url }: { url: string }, command: Command) => {
      const key = (
        process.stdin.isTTY ? await askHidden(`API key of ${url}: `) : await text(process.stdin)
      ).trim();
      const sy = clientOf({ url, apiKey: key });
      await dataOf(sy.api.GET('/v1/models'));
      await saveSettings({ url: sy.url, key });
      printResult(command, `Logged in at ${sy.url}. The key is in ${settingsFile()}.`, { url: sy.url });
    });
}

/** Asks without showing what is typed. @throws when nothing is, at Ctrl-D or Ctrl-C */
async function askHidden(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question); // the terminal shows and holds nothing from here on
  const [line] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as [string?];
  lines.close();
  process.stderr.write('\n');
  if (line === undefined) throw new Error('No key was given.');
  return line;
}

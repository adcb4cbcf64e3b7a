// `switchyard models` and `switchyard chat`.
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { dataOf, type paths, type Switchyard, SwitchyardError, serverEvents } from '@switchyard/client';
import type { chatCompletionChunk } from '@switchyard/contracts';
import type { Command } from 'commander';
import { dollars, errorText, printJson, printTable, printText, wantsJson } from './print.ts';
import { connect } from './settings.ts';

const MODEL_DEFAULT = 'local/chat';
/** Statuses that every further message would get: a key without access, or an unknown model. */
const LASTING_STATUSES = [401, 403, 404];

type ModelsQuery = NonNullable<paths['/v1/models']['get']['parameters']['query']>;

interface ModelsOptions {
  type?: string;
  maker?: string;
  available?: boolean;
}

interface Message {
  role: string;
  content: string;
}

interface ChatOptions {
  model: string;
  system?: string;
}

type Chunk = (typeof chatCompletionChunk)['_output'] & { error?: { code?: string; message?: string } };

export function addModelCommands(program: Command): void {
  program
    .command('models')
    .description('list the models')
    .option('--type <type>', 'only of this type: language, image, speech …')
    .option('--maker <maker>', 'only of this maker')
    .option('--available', 'only those that can be called here')
    .action(async ({ type, maker, available }: ModelsOptions, command: Command) => {
      const sy = await connect();
      const query = { type, maker, available: available ? 'true' : undefined } as ModelsQuery;
      const { data: models } = await dataOf(sy.api.GET('/v1/models', { params: { query } }));
      const rows = models.map((model) => [
        model.id,
        model.type,
        model.available ? 'yes' : 'no',
        model.endpoint,
      ]);
      printTable(command, ['MODEL', 'TYPE', 'AVAILABLE', 'ENDPOINT'], rows, models);
    });
  program
    .command('chat')
    .description('ask a language model; without a prompt, read it from a pipe or converse')
    .argument('[prompt...]')
    .option('-m, --model <model>', 'a model of type language', MODEL_DEFAULT)
    .option('-s, --system <text>', 'instructions for the model')
    .action(async (words: string[], options: ChatOptions, command: Command) => {
      const sy = await connect();
      const messages: Message[] = options.system ? [{ role: 'system', content: options.system }] : [];
      if (words.length === 0 && process.stdin.isTTY && !wantsJson(command))
        return converse(sy, options.model, messages);
      const content = words.length > 0 ? words.join(' ') : await text(process.stdin);
      messages.push({ role: 'user', content });
      if (!wantsJson(command)) return void (await streamAnswer(sy, options.model, messages));
      const body = { model: options.model, messages };
      printJson(await dataOf(sy.api.POST('/v1/chat/completions', { body })));
    });
}

/**
 * Each line is a message, until the end of input (Ctrl-D) or a lasting error. Ctrl-C ends the answer, or else the
 * conversation. Messages without a whole answer are dropped.
 */
async function converse(sy: Switchyard, model: string, messages: Message[]): Promise<void> {
  using lines = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
  let answering: AbortController | null = null;
  let hasEnded = false;
  lines.on('SIGINT', () => (answering ? answering.abort() : lines.close()));
  lines.on('close', () => {
    hasEnded = true;
  });
  lines.prompt();
  for await (const content of lines) {
    messages.push({ role: 'user', content });
    answering = new AbortController();
    const { signal } = answering;
    try {
      messages.push({ role: 'assistant', content: await streamAnswer(sy, model, messages, signal) });
    } catch (error) {
      if (error instanceof SwitchyardError && LASTING_STATUSES.includes(error.status ?? 0)) throw error;
      messages.pop();
      process.stderr.write(signal.aborted ? '\n' : `${errorText(error)}\n`);
    }
    answering = null;
    if (!hasEnded) lines.prompt();
  }
}

/** Prints the answer while the model writes, and its cost for a person. Returns the answer. */
async function streamAnswer(
  sy: Switchyard,
  model: string,
  messages: Message[],
  signal: AbortSignal | null = null,
): Promise<string> {
  const body = { model, messages, stream: true };
  const stream = await dataOf(sy.api.POST('/v1/chat/completions', { body, parseAs: 'stream', signal }));
  let answer = '';
  let cost: number | undefined;
  try {
    for await (const { data } of serverEvents(stream)) {
      if (data === '[DONE]') break;
      const chunk = JSON.parse(data) as Chunk;
      if (chunk.error) throw new SwitchyardError(chunk.error);
      const { content, refusal } = chunk.choices?.[0]?.delta ?? {};
      const written = content || refusal || '';
      printText(written);
      answer += written;
      cost = chunk.usage?.cost ?? cost;
    }
  } catch (error) {
    if (answer !== '' && !signal?.aborted) process.stdout.write('\n'); // ends the line before the error
    throw error;
  }
  process.stdout.write('\n');
  if (cost !== undefined && process.stderr.isTTY) process.stderr.write(`(${dollars(cost)})\n`);
  return answer;
}

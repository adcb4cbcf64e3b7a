// `switchyard computers`: life, commands, terminals and files of computers.
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { type CreationProgress, dataOf, type ExecOptions } from '@switchyard/client';
import type { Command } from 'commander';
import { addAssignment } from './assignment.ts';
import { copy } from './copy.ts';
import { forEach } from './for-each.ts';
import { dollars, printJson, printResult, printTable, wantsJson } from './print.ts';
import { readCount, readNumber } from './read-count.ts';
import { connect } from './settings.ts';
import { attachTerminal } from './terminal.ts';

/** Exit code until a command in a computer has one, as with ssh. */
const FAILED_BEFORE_THE_COMMAND = 255;

interface CreateOptions {
  name?: string;
  image?: string;
  cpu?: number;
  memory?: number;
  idleMinutes?: number;
  metadata: Record<string, string>;
  json?: boolean;
}

interface ExecFlags {
  cwd?: string;
  timeout?: number;
  env: Record<string, string>;
  stdin?: boolean;
  json?: boolean;
}

export function addComputerCommands(program: Command): void {
  const computers = program
    .command('computers')
    .description('Linux computers, charged by the minute')
    .enablePositionalOptions();
  addLifeCommands(computers);
  computers
    .command('exec')
    .description('run a shell command and show its output; exits with its code, or with 255')
    .argument('<id>')
    .argument('<command...>', 'joined by spaces, as ssh does')
    .option('--cwd <folder>', 'the folder it runs in; default: /workspace')
    .option('--timeout <seconds>', 'seconds after which the command is stopped', readCount)
    .option('-e, --env <NAME=value>', 'an extra variable; may be repeated', addAssignment, {})
    .option('-i, --stdin', 'pass standard input, which must be text, to the command')
    .passThroughOptions()
    .action(
      async (id: string, words: string[], { stdin, json: _, ...flags }: ExecFlags, command: Command) => {
        process.exitCode = FAILED_BEFORE_THE_COMMAND;
        // `exec <id> -- ls`, as with ssh and kubectl; no command begins with it.
        const line = (words[0] === '--' ? words.slice(1) : words).join(' ');
        const options: ExecOptions = { ...flags, ...(stdin ? { stdin: await readText(process.stdin) } : {}) };
        const computer = await (await connect()).computers.get(id);
        if (wantsJson(command)) {
          const { exitCode, durationMs, ...output } = await computer.exec(line, options);
          printJson({ ...output, exit_code: exitCode, duration_ms: durationMs });
          return exitAs(exitCode);
        }
        for await (const event of computer.execStream(line, options)) {
          if (event.type === 'output' && !process.stdout.write(event.data))
            await once(process.stdout, 'drain');
          if (event.type === 'exit') await exitAs(event.exitCode);
        }
      },
    );
  computers
    .command('ssh')
    .description('open a terminal; exits with its code, or with 255')
    .argument('<id>')
    .action(async (id: string) => {
      process.exitCode = FAILED_BEFORE_THE_COMMAND;
      const computer = await (await connect()).computers.get(id);
      await exitAs(await attachTerminal(computer));
    });
  computers
    .command('cp')
    .description('copy a file to or from /workspace: <id>:<path> names one there')
    .argument('<from>')
    .argument('<to>')
    .action(async (from: string, to: string, _options: object, command: Command) => {
      const copied = await copy((await connect()).computers, from, to);
      printResult(command, `${copied.from} -> ${copied.to}`, copied);
    });
  addLinkCommand(computers);
}

function addLifeCommands(computers: Command): void {
  computers
    .command('ls')
    .description('list the computers')
    .action(async (_options: object, command: Command) => {
      const list = await (await connect()).computers.list();
      const rows = list.map(({ id, name, status, cpu, memory_mb, minutes, cost }) => [
        ...[id, name, status, cpu, memory_mb, minutes, dollars(cost)],
      ]);
      printTable(command, ['COMPUTER', 'NAME', 'STATUS', 'CPU', 'MEMORY MB', 'MINUTES', 'COST'], rows, list);
    });
  computers
    .command('create')
    .description('create a computer, and print its id when it runs')
    .option('--name <name>', 'a label')
    .option('--image <image>', 'an image of a public registry')
    .option('--cpu <cores>', 'cores', readNumber)
    .option('--memory <mb>', 'MiB of memory', readCount)
    .option('--idle-minutes <minutes>', 'idle minutes after which it stops by itself', readCount)
    .option('--metadata <name=value>', 'a tag, for Usage; may be repeated', addAssignment, {})
    .action(async ({ memory, idleMinutes, json: _, ...wish }: CreateOptions, command: Command) => {
      const sy = await connect();
      const { id, info } = await sy.computers.create({
        ...wish,
        ...(memory === undefined ? {} : { memory_mb: memory }),
        ...(idleMinutes === undefined ? {} : { idle_stop_minutes: idleMinutes }),
        ...(process.stderr.isTTY ? { onProgress: showProgress } : {}),
      });
      printResult(command, id, info);
    });
  const changes = [
    ['start', 'start stopped computers with their /workspace'],
    ['stop', 'stop computers and charges; /workspace is kept'],
  ] as const;
  for (const [change, about] of changes)
    computers
      .command(change)
      .description(about)
      .argument('<id...>')
      .action(async (ids: string[], _options: object, command: Command) => {
        const sy = await connect();
        await forEach(ids, async (id) => {
          const info = await (await sy.computers.get(id))[change]();
          printResult(command, `${id} is ${info.status}`, info);
        });
      });
  computers
    .command('rm')
    .description('delete computers and their files')
    .argument('<id...>')
    .action(async (ids: string[], _options: object, command: Command) => {
      const sy = await connect();
      await forEach(ids, async (id) => {
        await (await sy.computers.get(id)).delete();
        printResult(command, `${id} is deleted`, { id, object: 'computer', deleted: true });
      });
    });
}

/** @throws Error for other bytes, which JSON cannot carry */
async function readText(input: NodeJS.ReadableStream): Promise<string> {
  const bytes = await buffer(input);
  if (!isUtf8(bytes))
    throw new Error(
      'Standard input is not UTF-8 text. Copy it to a file of the computer: switchyard computers cp.',
    );
  return bytes.toString();
}

function addLinkCommand(computers: Command): void {
  computers
    .command('link')
    .description('print a URL of a port; the URL needs no key')
    .argument('<id>')
    .argument('<port>', 'of a server in the computer', readCount)
    .option('--minutes <count>', 'minutes for which it opens connections', readCount)
    .action(async (id: string, port: number, { minutes }: { minutes?: number }, command: Command) => {
      const sy = await connect();
      const params = { path: { id } };
      const body = { port, ...(minutes === undefined ? {} : { minutes }) };
      const link = await dataOf(sy.api.POST('/v1/computers/{id}/links', { params, body }));
      printResult(command, link.url, link);
    });
}

/** Exits as a command in a computer did, unless its output cannot be written: then `main.ts` exits first. */
async function exitAs(code: number): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write('', (error) => error || resolve()));
  process.exitCode = code;
}

function showProgress({ phase, percent }: CreationProgress): void {
  process.stderr.write(`\r\x1b[2K${percent === 100 ? '' : `${phase} ${percent} %`}`);
}

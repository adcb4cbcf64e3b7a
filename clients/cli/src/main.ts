#!/usr/bin/env node
// `switchyard`: the command line of the API.
import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addCompletionCommand } from './completion-command.ts';
import { addComputerCommands } from './computer-commands.ts';
import { addFileCommands } from './file-commands.ts';
import { addImageCommand } from './image-command.ts';
import { addKeyCommands } from './key-commands.ts';
import { addLoginCommand } from './login-command.ts';
import { addModelCommands } from './model-commands.ts';
import { errorText } from './print.ts';
import { addReportCommands } from './report-commands.ts';

const FAILED = 1;

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(); // `| head` has had enough
  process.stderr.write(`Standard output cannot be written: ${error.message}\n`);
  process.exit(process.exitCode ?? FAILED);
});

const program = new Command('switchyard')
  .description('AI models and computers, under one key and one bill')
  .version(packageJson.version)
  .enablePositionalOptions()
  .showHelpAfterError('(add --help for the options)');

addLoginCommand(program);
addModelCommands(program);
addImageCommand(program);
addComputerCommands(program);
addFileCommands(program);
addReportCommands(program);
addKeyCommands(program);
addCompletionCommand(program);
addJsonOption(program);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`);
  process.exitCode ??= FAILED;
}

/** `--json` may stand before the command and among its options. */
function addJsonOption(command: Command): void {
  command.option('--json', 'print JSON, one value per line');
  for (const one of command.commands) addJsonOption(one);
}

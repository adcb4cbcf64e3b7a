// `switchyard completion`: a script for the shell, made from the commands that the program has.
import { Argument, type Command } from 'commander';
import { COMPLETION_SCRIPTS, type CompletedCommand, type Shell } from './completion-scripts.ts';

export function addCompletionCommand(program: Command): void {
  const shells = Object.keys(COMPLETION_SCRIPTS);
  program
    .command('completion')
    .description('print a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>').choices(shells))
    .addHelpText('after', '\nAdd to ~/.bashrc: source <(switchyard completion bash)')
    .action((shell: Shell) => {
      process.stdout.write(COMPLETION_SCRIPTS[shell](completedCommands(program)));
    });
}

/** The command and all below it. */
function completedCommands(command: Command, path = ''): CompletedCommand[] {
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const own: CompletedCommand = {
    path,
    words: [
      ...command.commands.map((one) => ({ word: one.name(), about: one.description() })),
      ...choices.map((word) => ({ word, about: '' })),
    ],
    options: command
      .createHelp()
      .visibleOptions(command)
      .map(({ short, long, required, description, argChoices }) => ({
        flags: [short, long].filter((flag) => flag !== undefined),
        about: description,
        values: required ? (argChoices ?? []) : null,
      })),
  };
  const below = command.commands.flatMap((one) => completedCommands(one, `${path} ${one.name()}`.trim()));
  return [own, ...below];
}

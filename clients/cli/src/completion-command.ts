// `switchyard completion`: a script for the shell, which asks the hidden `switchyard complete` at each Tab.
import { Argument, type Command } from 'commander';

/** Where the program offers nothing, the shell completes file names. `command` skips functions and aliases. */
const SCRIPTS = {
  bash: `# source <(switchyard completion bash)
_switchyard() {
  local IFS=$'\\n'
  COMPREPLY=($(command switchyard complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null | cut -f 1))
}
complete -o default -F _switchyard switchyard
`,
  zsh: `#compdef switchyard
# source <(switchyard completion zsh), after compinit
_switchyard() {
  local -a offered
  offered=(\${(f)"$(command switchyard complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null | tr '\\t' ':')"})
  if (( $#offered )); then _describe word offered; else _files; fi
}
compdef _switchyard switchyard
`,
  fish: `# switchyard completion fish | source
function __switchyard_complete
  set -l written (commandline -opc)
  set -l last (commandline -ct)
  set -l offered (command switchyard complete -- $written[2..] "$last" 2> /dev/null)
  if set -q offered[1]
    printf '%s\\n' $offered
  else
    __fish_complete_path "$last"
  end
end
complete -c switchyard -f -a '(__switchyard_complete)'
`,
};

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', '\nAdd to ~/.bashrc: source <(switchyard completion bash)')
    .action((shell: keyof typeof SCRIPTS) => {
      process.stdout.write(SCRIPTS[shell]);
    });
  program
    .command('complete', { hidden: true })
    .argument('[words...]', 'after the name of the program; the last one is completed')
    .action((words: string[]) => {
      for (const { word, about } of completionsOf(program, words))
        process.stdout.write(`${word}\t${about}\n`);
    });
}

interface Completion {
  readonly word: string;
  readonly about: string;
}

/** Completions of the last word. Bash splits --option=value at the `=`; other shells pass it as one word. */
function completionsOf(program: Command, words: readonly string[]): Completion[] {
  const before = words.slice(0, -1).filter((word) => word !== '=');
  const last = words.at(-1) ?? '';
  const [prefix = '', assigned] = /^(--[^=]+)=/.exec(last) ?? [];
  const begun = last === '=' ? '' : last.slice(prefix.length);
  const command = before.reduce((at, word) => at.commands.find((one) => one.name() === word) ?? at, program);
  return offersOf(command, assigned ?? before.at(-1), begun)
    .filter(({ word }) => word.startsWith(begun))
    .map(({ word, about }) => ({ word: prefix + word, about }));
}

function offersOf(command: Command, previous: string | undefined, begun: string): Completion[] {
  const choices = (values: readonly string[] = []) => values.map((word) => ({ word, about: '' }));
  const help = command.createHelp();
  const options = help.visibleOptions(command);
  const asking = options.find(({ short, long, required }) => required && [short, long].includes(previous));
  if (asking) return choices(asking.argChoices);
  if (begun.startsWith('-'))
    return options.flatMap(({ short, long, description }) =>
      [short, long].flatMap((word) => (word === undefined ? [] : [{ word, about: description }])),
    );
  return [
    ...help.visibleCommands(command).map((one) => ({ word: one.name(), about: one.description() })),
    ...command.registeredArguments.flatMap(({ argChoices }) => choices(argChoices)),
  ];
}

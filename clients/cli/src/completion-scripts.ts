// Completion scripts for bash, zsh and fish. Each finds the command that is being written by the words before the cursor,
// and offers what may follow it; where it knows nothing, the shell completes file names.

export interface CompletedCommand {
  /** Its name with those above it: `computers exec`; empty for the program. */
  readonly path: string;
  /** Commands below it, or the values of its argument. */
  readonly words: readonly { readonly word: string; readonly about: string }[];
  readonly options: readonly CompletedOption[];
}

interface CompletedOption {
  /** Short and long. */
  readonly flags: readonly string[];
  readonly about: string;
  /** Its values, as far as they are known; null when it takes none. */
  readonly values: readonly string[] | null;
}

export type Shell = 'bash' | 'zsh' | 'fish';

export const COMPLETION_SCRIPTS: Readonly<Record<Shell, (commands: CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

const flagsOf = ({ options }: CompletedCommand) => options.flatMap(({ flags }) => flags);

function bashScript(commands: CompletedCommand[]): string {
  return `# source <(switchyard completion bash)
_switchyard() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at= word words= flags=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in ${pathPattern(commands)}) at="\${at:+$at }$word" ;; esac
  done
  # Bash makes a word of its own of the \`=\` in --option=value.
  if [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $cur == = ]]; then cur=; fi
  COMPREPLY=()
  case "$at:$prev" in
${valueCases(commands, (values) => (values.length === 0 ? 'return' : `words=${quoted(values.join(' '))}`))}
    *) case "$at" in
${commands.map((one) => `      ${quoted(one.path)}) words=${quoted(wordsOf(one))} flags=${quoted(flagsOf(one).join(' '))} ;;`).join('\n')}
      esac ;;
  esac
  if [[ $cur == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _switchyard switchyard
`;
}

function zshScript(commands: CompletedCommand[]): string {
  const described = (list: readonly { word: string; about: string }[]) =>
    list.map(({ word, about }) => quoted(`${word}:${about}`)).join(' ');
  const flags = ({ options }: CompletedCommand) =>
    described(options.flatMap(({ flags: names, about }) => names.map((word) => ({ word, about }))));
  return `#compdef switchyard
# source <(switchyard completion zsh), after compinit
_switchyard() {
  local at= word
  local -a offered flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in (${pathPattern(commands)}) at="\${at:+$at }$word" ;; esac
  done
  case "$at:$words[CURRENT-1]" in
${valueCases(commands, (values) => (values.length === 0 ? '_files; return' : `compadd -- ${values.map(quoted).join(' ')}; return`))}
  esac
  case "$at" in
${commands.map((one) => `    (${quoted(one.path)}) offered=(${described(one.words)}) flags=(${flags(one)}) ;;`).join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then _describe option flags
  elif (( $#offered )); then _describe command offered
  else _files
  fi
}
compdef _switchyard switchyard
`;
}

function fishScript(commands: CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, words, options }) => {
    const begin = `complete -c switchyard -n ${quoted(`__switchyard_at ${quoted(path)}`)}`;
    return [
      ...words.map(({ word, about }) => `${begin} -f -a ${quoted(word)} -d ${quoted(about)}`),
      ...options.map(({ flags, about, values }) => {
        const names = flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const value =
          values === null ? '' : values.length === 0 ? ' -r' : ` -x -a ${quoted(values.join(' '))}`;
        return `${begin} ${names.join(' ')}${value} -d ${quoted(about)}`;
      }),
    ];
  });
  const paths = commands.slice(1).map(({ path }) => quoted(placeOf(path)));
  return `# switchyard completion fish | source
function __switchyard_at
  set -l at ''
  set -l written (commandline -opc)
  for word in $written[2..]
    switch "$at $word"
      case ${paths.join(' ')}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** A command as the scripts meet it: the command above it, and its own name. */
function placeOf(path: string): string {
  return path.includes(' ') ? path : ` ${path}`;
}

/** Pattern of all commands but the program itself. */
function pathPattern(commands: CompletedCommand[]): string {
  return commands
    .slice(1)
    .map(({ path }) => quoted(placeOf(path)))
    .join('|');
}

function wordsOf({ words }: CompletedCommand): string {
  return words.map(({ word }) => word).join(' ');
}

/** A case for each option with a value: `'usage:--interval') …`. */
function valueCases(commands: CompletedCommand[], then: (values: readonly string[]) => string): string {
  return commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ flags, values }) => {
        const places = flags.map((flag) => quoted(`${path}:${flag}`)).join('|');
        return values === null ? [] : `    ${places}) ${then(values)} ;;`;
      }),
    )
    .join('\n');
}

/** A word of the shell; its quotes are the same in all three. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// The tour's output: headings, indented lines, and one line that shows the progress of a wait.

const colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;

const style = (code: number) => (text: string) =>
  colours && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text;

export const bold = style(1);
export const dim = style(2);

export function heading(title: string, about: string): void {
  console.log(`\n${bold(title)}  ${dim(about)}`);
}

export function line(text: string): void {
  console.log(`  ${text}`);
}

/** Returns a function that shows the state of a wait, once for each change. An empty text ends the wait. */
export function waitingLine(): (text: string) => void {
  let shown = '';
  return (text) => {
    if (text === shown) return;
    shown = text;
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[2K${text === '' ? '' : `  ${text}`}`);
    else if (text !== '') line(text);
  };
}

// What commands print: tables for people, JSON for programs.
import { SwitchyardError } from '@switchyard/client';
import type { Command } from 'commander';

type Cell = string | number | null | undefined;

/** Whether `--json` was given, anywhere on the command line. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Prints rows with their headings, or with `--json` the value that they show. */
export function printTable(command: Command, headings: string[], rows: Cell[][], value: unknown): void {
  if (wantsJson(command)) return printJson(value);
  const texts = [headings, ...rows].map((row) => row.map((cell) => String(cell ?? '-')));
  const widths = headings.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  for (const row of texts)
    printLine(
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

/** Prints one line for people, or with `--json` the value. */
export function printResult(command: Command, line: string, value: unknown): void {
  if (wantsJson(command)) printJson(value);
  else printLine(line);
}

/** One line, so that a stream of values is NDJSON. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Prints one line for people. Replaces control characters: a name that a colleague chose could command the terminal. */
export function printLine(line: string): void {
  process.stdout.write(`${line.replaceAll(/\p{Cc}/gu, '\ufffd')}\n`);
}

/** Prints a piece of a model's text. In a terminal, control characters that could command it are replaced. */
export function printText(text: string): void {
  const forTerminal = () => text.replaceAll('\r', '').replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd');
  process.stdout.write(process.stdout.isTTY ? forTerminal() : text);
}

/** A plain decimal, never an exponent: 0.00000885 -> $0.00000885 */
export function dollars(amount: number): string {
  return `$${amount.toFixed(9).replace(/0{1,7}$/, '')}`;
}

/** `{ input_tokens: 5, images: 2 }` -> 5 input_tokens, 2 images */
export function quantitiesText(quantities: Readonly<Record<string, number>>): string {
  return Object.entries(quantities)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}

/** The text of an error for people, on standard error. */
export function errorText(error: unknown): string {
  if (error instanceof SwitchyardError) return `${error.code}: ${error.message}`;
  const { message, cause } = error as Error;
  const reason = (cause as NodeJS.ErrnoException | undefined)?.code;
  return reason === undefined ? message : `${message} (${reason})`;
}

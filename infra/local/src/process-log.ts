/**
 * The log of one process. All output goes to `<data>/logs/<name>.log`. Warnings and errors also show at the terminal,
 * a limited number per period.
 */
import { createWriteStream, mkdirSync, renameSync, statSync, type WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

export interface ProcessLog {
  readonly file: string;
  /** Reads one output of a process. Call it for stdout and stderr, and again after every restart. */
  attach(output: NodeJS.ReadableStream): void;
  /** The last lines, for the message when a process does not start. */
  tail(): string[];
}

/** A larger file is renamed to `<name>.log.1`, bytes. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
const TAIL_LINES_MAX = 20;
const TAIL_LINE_CHARS_MAX = 500;
/** Lines shown at the terminal per process and period; further lines are only counted. */
const SHOWN_LINES_MAX = 5;
const SHOWN_PERIOD_MS = 10_000;

export function openProcessLog(file: string, show: (text: string) => void): ProcessLog {
  mkdirSync(dirname(file), { recursive: true });
  let stream = append(file);
  let bytes = sizeOf(file);
  const tail: string[] = [];
  const limited = limitShown(show, file);

  function write(line: string): void {
    if (stream.destroyed) stream = append(file);
    bytes += Buffer.byteLength(line) + 1;
    stream.write(`${line}\n`);
    if (bytes < FILE_BYTES_MAX) return;
    stream.end();
    keepOld(file);
    stream = append(file);
    bytes = 0;
  }

  return {
    file,
    attach(output) {
      createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
        write(line);
        tail.push(line.slice(0, TAIL_LINE_CHARS_MAX));
        if (tail.length > TAIL_LINES_MAX) tail.shift();
        const words = readTrouble(line);
        if (words !== undefined) limited(words);
      });
    },
    tail: () => [...tail],
  };
}

/** pino's levels, by label as our services write them. */
const PINO_TROUBLE: Readonly<Record<string, string>> = { warn: 'warning', error: 'error', fatal: 'fatal' };
/** nats-server: `[12] 2026/11/21 02:20:42.123456 [ERR] words`. */
const NATS_TROUBLE = /^\[\d+\] \S+ \S+ \[(WRN|ERR|FTL)\] (.*)$/;

/** nats-server does not know that only its owner may read its configuration (nats-users.ts). */
const PLAIN_PASSWORDS = 'Plaintext passwords detected, use nkeys or bcrypt';

/** The message of a warning or error, or undefined. Reads pino's JSON and nats-server's text. */
export function readTrouble(line: string): string | undefined {
  const nats = line.match(NATS_TROUBLE);
  if (nats?.[2] === PLAIN_PASSWORDS) return undefined;
  if (nats) return `${nats[1] === 'WRN' ? 'warning' : 'error'}: ${nats[2]}`;
  if (!line.startsWith('{')) return undefined;
  try {
    const entry: { level?: unknown; msg?: unknown; err?: { message?: unknown } } = JSON.parse(line);
    const trouble = typeof entry.level === 'string' ? PINO_TROUBLE[entry.level] : undefined;
    if (trouble === undefined) return undefined;
    const words = [entry.msg, entry.err?.message].filter((text) => typeof text === 'string' && text !== '');
    return `${trouble}: ${[...new Set(words)].join(': ')}`;
  } catch {
    return undefined;
  }
}

function limitShown(show: (text: string) => void, file: string): (text: string) => void {
  let periodStart = Number.NEGATIVE_INFINITY;
  let shown = 0;
  return (text) => {
    const now = performance.now();
    if (now - periodStart > SHOWN_PERIOD_MS) {
      periodStart = now;
      shown = 0;
    }
    shown += 1;
    if (shown <= SHOWN_LINES_MAX) show(text);
    else if (shown === SHOWN_LINES_MAX + 1) show(`more of this in ${file}`);
  };
}

function append(file: string): WriteStream {
  // Logs may contain customers' models and ids, so only the owner may read them.
  const stream = createWriteStream(file, { flags: 'a', mode: 0o600 });
  stream.on('error', () => {}); // a full disk costs lines, not the launcher
  return stream;
}

function keepOld(file: string): void {
  try {
    renameSync(file, `${file}.1`);
  } catch {} // a deleted file costs its lines, not the launcher
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

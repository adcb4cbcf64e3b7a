// Commands of everyday life, each with the answer that it must give.
import { createHash } from 'node:crypto';
import type { Random } from './random.ts';

export interface Command {
  readonly command: string;
  readonly stdin?: string;
  /** What it writes and how it ends. */
  readonly stdout: string;
  readonly exitCode: number;
}

const OUTPUT_BYTES = 100_000;
const STDIN_BYTES = 20_000;

/** @param id of the computer that it is for, which stands in its file `owner` */
export function someCommand(random: Random, id: string): Command {
  const n = random.between(2, 5_000);
  const fine = (command: string, stdout: string) => ({ command, stdout, exitCode: 0 });
  const kinds: (() => Command)[] = [
    () => fine(`echo $((${n} * 7919))`, `${n * 7919}\n`),
    () => ({ command: `echo out; echo err >&2; exit ${n % 120}`, stdout: 'out\nerr\n', exitCode: n % 120 }),
    // Its files are its own and outlive whatever happens to its container.
    () => fine('cat owner', `${id}\n`),
    () => fine(`echo ${n} > f${n % 8} && cat f${n % 8}`, `${n}\n`),
    () => fine(`seq 1 ${n} | sha256sum`, `${sha256(numbersTo(n))}  -\n`),
    () => fine(`python3 -c 'print(sum(range(${n})))'`, `${(n * (n - 1)) / 2}\n`),
    () => fine(`head -c ${OUTPUT_BYTES} /dev/zero | tr '\\0' y`, 'y'.repeat(OUTPUT_BYTES)),
    () => {
      const stdin = String(n).repeat(STDIN_BYTES / 5);
      return { ...fine('sha256sum', `${sha256(stdin)}  -\n`), stdin };
    },
  ];
  return random.oneOf(kinds)();
}

function numbersTo(n: number): string {
  return `${Array.from({ length: n }, (_, index) => index + 1).join('\n')}\n`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

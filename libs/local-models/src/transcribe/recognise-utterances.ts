// Utterances -> words with their times, by pocketsphinx: first with its model of general English; an utterance of
// mostly numbers then again with a grammar of digits, which tells "nine" from "minute".
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENGLISH_SPEECH_MODEL } from '../programs.ts';
import { runProgram } from '../run-program.ts';
import type { StoredUtterance } from './decode-audio.ts';
import { DIGIT_GRAMMAR, isMostlyDigits } from './digits.ts';
import { parseHypotheses, type TimedWord } from './hypotheses.ts';

export interface Segment {
  /** Seconds from the file's beginning. */
  start: number;
  end: number;
  text: string;
  words: TimedWord[];
}

/** Penalty of each word with the grammar: the default breaks one digit into two. */
const DIGIT_INSERTION_PENALTY = '0.1';

/** In order; an utterance in which no word was recognised gives no segment. */
export async function recogniseUtterances(
  utterances: StoredUtterance[],
  folder: string,
  signal: AbortSignal,
): Promise<Segment[]> {
  if (utterances.length === 0) return [];
  const model = ENGLISH_SPEECH_MODEL.path;
  const heard = await recognise('general', ['-lm', join(model, 'en-us.lm.bin')], utterances, folder, signal);
  const numbers = utterances.filter(({ name }) =>
    isMostlyDigits((heard.get(name) ?? []).map(({ word }) => word)),
  );
  if (numbers.length > 0) {
    const grammar = join(folder, 'digits.gram');
    await writeFile(grammar, DIGIT_GRAMMAR);
    const options = ['-jsgf', grammar, '-wip', DIGIT_INSERTION_PENALTY];
    const digits = await recognise('digits', options, numbers, folder, signal);
    for (const [name, words] of digits) if (words.length > 0) heard.set(name, words);
  }
  return utterances.flatMap((utterance) => toSegment(utterance, heard.get(utterance.name) ?? []));
}

async function recognise(
  run: string,
  options: string[],
  utterances: StoredUtterance[],
  folder: string,
  signal: AbortSignal,
): Promise<Map<string, TimedWord[]>> {
  const { path: model } = ENGLISH_SPEECH_MODEL;
  const list = join(folder, `${run}.list`);
  const hypotheses = join(folder, `${run}.hypotheses`);
  await writeFile(list, `${utterances.map(({ name }) => name).join('\n')}\n`);
  const recogniser = runProgram(
    'pocketsphinx_batch',
    [
      ...['-hmm', join(model, 'en-us'), '-dict', join(model, 'cmudict-en-us.dict'), ...options],
      ...['-ctl', list, '-cepdir', folder, '-cepext', '.raw', '-adcin', 'yes'],
      ...['-hypseg', hypotheses, '-logfn', '/dev/null'],
    ],
    signal,
  );
  recogniser.input.end();
  recogniser.output.resume();
  await recogniser.done;
  return parseHypotheses(await readFile(hypotheses, 'utf8'));
}

function toSegment({ start, length }: StoredUtterance, heard: TimedWord[]): Segment[] {
  const first = heard[0];
  if (!first) return [];
  // Times count from the quiet that was put before the utterance; the file begins at 0.
  const inFile = (seconds: number) => Number(Math.max(0, start + Math.min(seconds, length)).toFixed(2));
  const words = heard.map((one) => ({ word: one.word, start: inFile(one.start), end: inFile(one.end) }));
  const text = words.map(({ word }) => word).join(' ');
  return [{ start: words[0]?.start ?? 0, end: words.at(-1)?.end ?? 0, text, words }];
}

// Reads the words of a Scribe answer, which also lists spaces and other sounds.
import { z } from 'zod';
import type { Word } from '../ai-sdk/transcribe.ts';

const answer = z.object({
  words: z.array(
    z.object({ text: z.string(), type: z.string(), start: z.number().nullish(), end: z.number().nullish() }),
  ),
});

export function elevenlabsWords(body: unknown): Word[] {
  const { words = [] } = answer.safeParse(body).data ?? {};
  return words
    .filter(({ type }) => type === 'word')
    .map(({ text, start, end }) => ({ word: text, start: start ?? 0, end: end ?? start ?? 0 }));
}

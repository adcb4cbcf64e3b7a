// Reads the words of a Deepgram answer, with punctuation.
import { z } from 'zod';
import type { Word } from '../ai-sdk/transcribe.ts';

const word = z.object({
  word: z.string(),
  punctuated_word: z.string().nullish(),
  start: z.number(),
  end: z.number(),
});
const alternative = z.object({ words: z.array(word).default([]) });
const answer = z.object({
  results: z.object({ channels: z.array(z.object({ alternatives: z.array(alternative) })) }),
});

export function deepgramWords(body: unknown): Word[] {
  const channel = answer.safeParse(body).data?.results.channels[0];
  const { words = [] } = channel?.alternatives[0] ?? {};
  return words.map(({ word, punctuated_word: written, start, end }) => ({
    word: written ?? word,
    start,
    end,
  }));
}

// Reads the words of OpenAI's verbose_json, which has them on request.
import { z } from 'zod';
import type { Word } from '../ai-sdk/transcribe.ts';

const answer = z.object({
  words: z.array(z.object({ word: z.string(), start: z.number(), end: z.number() })).nullish(),
});

export function openaiWords(body: unknown): Word[] {
  return answer.safeParse(body).data?.words ?? [];
}

// OpenAI: chat by chat completions or Responses (chat.ts), images, speech, transcription, embeddings and decisions. Responses
// requests pass through.
import { z } from 'zod';
import type { MakerDeclaration } from '../ai-sdk/declaration.ts';
import { NO_ASPECT_RATIO, NO_SEED } from '../ai-sdk/image.ts';
import type { Word } from '../ai-sdk/transcribe.ts';
import { chat, isResponsesModel } from './chat.ts';

/** Maximum questions per call. */
const QUESTIONS_PER_CALL = 200;

const answer = z.object({
  words: z.array(z.object({ word: z.string(), start: z.number(), end: z.number() })).nullish(),
});

export const openai: MakerDeclaration = {
  name: 'openai',
  types: ['language', 'image', 'speech', 'transcription', 'embedding', 'decision'],
  baseUrl: 'https://api.openai.com/v1',
  apiKeyEnv: 'OPENAI_API_KEY',
  chat,
  native: {
    responses: { path: '/responses', headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }) },
  },
  fields: {
    image: {
      refused: { aspect_ratio: NO_ASPECT_RATIO, seed: NO_SEED },
      sent: {
        quality: 'quality',
        style: 'style',
        background: 'background',
        moderation: 'moderation',
        output_format: 'output_format',
        output_compression: 'output_compression',
        user: 'user',
      },
    },
    speech: { sent: { voice: 'voice' } }, // its provider package takes no voice as an object
    transcription: {
      sent: {
        language: 'language',
        prompt: 'prompt',
        temperature: 'temperature',
        include: 'include[]',
        chunking_strategy: 'chunking_strategy',
      },
      words: { always: false, read: openaiWords },
    },
    embedding: { sent: { user: 'user' } },
    decision: { sent: { safety_identifier: 'safety_identifier' }, perCall: QUESTIONS_PER_CALL },
  },
  async create(settings) {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const maker = createOpenAI(settings);
    return {
      language: (id) => (isResponsesModel(id) ? maker.responses(id) : maker.chat(id)),
      image: (id) => maker.imageModel(id),
      speech: (id) => maker.speech(id),
      transcription: (id) => maker.transcription(id),
      embedding: (id) => maker.embeddingModel(id),
      decision: (id) => maker.decisionModel(id),
    };
  },
};

/** Reads the words of verbose_json, which has them on request. */
function openaiWords(body: unknown): Word[] {
  return answer.safeParse(body).data?.words ?? [];
}

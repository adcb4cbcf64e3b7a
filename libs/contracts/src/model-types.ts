// The eight kinds of model: the type decides the endpoint and the unit charged.
import { z } from 'zod';

export const MODEL_TYPES = {
  language: { endpoint: 'POST /v1/chat/completions', chargedPer: 'token, input and output' },
  image: { endpoint: 'POST /v1/images/generations', chargedPer: 'image (some models: tokens)' },
  video: { endpoint: 'POST /v1/videos/generations', chargedPer: 'second of video' },
  speech: { endpoint: 'POST /v1/audio/speech', chargedPer: 'character spoken' },
  transcription: { endpoint: 'POST /v1/audio/transcriptions', chargedPer: 'minute of audio' },
  embedding: { endpoint: 'POST /v1/embeddings', chargedPer: 'token in' },
  decision: { endpoint: 'POST /v1/decisions', chargedPer: 'token, input and output' },
  rerank: { endpoint: 'POST /v1/rerank', chargedPer: 'search, or token in' },
} as const;

export type ModelType = keyof typeof MODEL_TYPES;

export const modelType = z.enum(Object.keys(MODEL_TYPES) as [ModelType, ...ModelType[]]);

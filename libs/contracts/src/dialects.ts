// The dialects in which a language model may be called: each has a path, and its own shapes of request, answer, stream
// and error. The model-router translates each to and from chat, so that every call takes one path.
import { z } from 'zod';
import { ANTHROPIC_ERRORS, type ErrorShape, OPENAI_ERRORS, RESPONSES_ERRORS } from './error-shapes.ts';

export const DIALECTS = {
  chat: { path: '/v1/chat/completions', errors: OPENAI_ERRORS },
  responses: { path: '/v1/responses', errors: RESPONSES_ERRORS },
  messages: { path: '/v1/messages', errors: ANTHROPIC_ERRORS },
  completions: { path: '/v1/completions', errors: OPENAI_ERRORS },
} as const satisfies Record<string, { path: string; errors: ErrorShape }>;

export type Dialect = keyof typeof DIALECTS;
export const dialect = z.enum(Object.keys(DIALECTS) as [Dialect, ...Dialect[]]);

/** Headers that name the request; Anthropic's clients read their own. */
export function requestIdHeaders(requestId: string, dialect: Dialect | undefined): Record<string, string> {
  return { 'x-request-id': requestId, ...(dialect === 'messages' ? { 'request-id': requestId } : {}) };
}

/** The shape of errors on a route; routes without a dialect have OpenAI's. */
export function errorShapeOf(dialect: Dialect | undefined): ErrorShape {
  return DIALECTS[dialect ?? 'chat'].errors;
}

// The shapes of errors that clients expect, by dialect: the body of an error answer, and the end of a stream that fails.
import { z } from 'zod';
import { type ErrorBody, errorBody, errorCode, errorKind, type ServiceError, toErrorBody } from './errors.ts';

export interface ErrorShape {
  readonly schema: z.ZodType;
  body(error: ServiceError, requestId: string): object;
  /** The last server-sent event of a stream that fails after it has begun. */
  streamEnd(error: ServiceError, requestId: string): string;
}

/** OpenAI's: its clients throw for every event with a member `error`. */
export const OPENAI_ERRORS: ErrorShape = {
  schema: errorBody,
  body: toErrorBody,
  streamEnd: (error, requestId) => `data: ${JSON.stringify(toErrorBody(error, requestId))}\n\n`,
};

/** OpenAI's Responses: bodies as OpenAI's; a stream ends with a typed event. */
export const RESPONSES_ERRORS: ErrorShape = {
  ...OPENAI_ERRORS,
  streamEnd: (error, requestId) => namedEvent(responsesError(error, requestId, 0)),
};

/** @param sequenceNumber of the event; 0 where the events before it were not counted */
export function responsesError(error: ServiceError, requestId: string, sequenceNumber: number) {
  return { type: 'error', sequence_number: sequenceNumber, ...toErrorBody(error, requestId) };
}

export const anthropicErrorBody = z.object({
  type: z.literal('error').describe('Always error'),
  error: z
    .object({
      type: z.string().describe('The coarse family, as Anthropic’s clients know it'),
      code: errorCode.describe('For programs; it does not change'),
      message: z.string().describe('For people; it may change'),
      param: z.string().nullable().describe('The field at fault, if any'),
      details: z.record(z.string(), z.unknown()).optional().describe('Depends on `code`'),
    })
    .describe('What went wrong'),
  request_id: z.string().describe('Names the request in Logs'),
});

/** Anthropic's families; every other one has the same name as OpenAI's. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  413: 'request_too_large',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

function anthropicBody(error: ServiceError, requestId: string): z.infer<typeof anthropicErrorBody> {
  const { request_id: _, type, ...rest }: ErrorBody['error'] = toErrorBody(error, requestId).error;
  const family = ANTHROPIC_TYPES[errorKind(error.code).status] ?? type;
  return { type: 'error', error: { type: family, ...rest }, request_id: requestId };
}

/** Anthropic's, of the Messages API. */
export const ANTHROPIC_ERRORS: ErrorShape = {
  schema: anthropicErrorBody,
  body: anthropicBody,
  streamEnd: (error, requestId) => namedEvent(anthropicBody(error, requestId)),
};

/** A server-sent event whose name is the `type` of its data. */
export function namedEvent(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

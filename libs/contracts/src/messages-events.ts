// The events of a streamed message. Anthropic's own events pass through, and may have further members.
import { z } from 'zod';
import { anthropicErrorBody } from './error-shapes.ts';
import { contentBlock, messagesAnswer } from './messages.ts';

const { usage, stop_reason, stop_sequence } = messagesAnswer.shape;
const index = z.int().describe('Which block of the content');

export const messageStartEvent = z.looseObject({
  type: z.literal('message_start'),
  message: messagesAnswer
    .extend({ usage: usage.partial().describe('The counts so far') })
    .describe('The message so far, without content'),
});

export const contentBlockStartEvent = z.looseObject({
  type: z.literal('content_block_start'),
  index,
  content_block: contentBlock.describe('The block that begins'),
});

export const textDelta = z.looseObject({
  type: z.literal('text_delta'),
  text: z.string().describe('More text'),
});
export const thinkingDelta = z.looseObject({
  type: z.literal('thinking_delta'),
  thinking: z.string().describe('More thoughts'),
});
export const signatureDelta = z.looseObject({
  type: z.literal('signature_delta'),
  signature: z.string().describe('Return it unchanged with the thoughts'),
});
export const inputJsonDelta = z.looseObject({
  type: z.literal('input_json_delta'),
  partial_json: z.string().describe('More of the tool’s input, as JSON'),
});

export const contentDelta = z.discriminatedUnion('type', [
  textDelta,
  thinkingDelta,
  signatureDelta,
  inputJsonDelta,
]);

export const contentBlockDeltaEvent = z.looseObject({
  type: z.literal('content_block_delta'),
  index,
  delta: contentDelta.describe('What is new'),
});

export const contentBlockStopEvent = z.looseObject({ type: z.literal('content_block_stop'), index });

export const messageDeltaEvent = z.looseObject({
  type: z.literal('message_delta'),
  delta: z.looseObject({ stop_reason, stop_sequence }).describe('How the message ended'),
  usage: usage.partial().required({ cost: true }).describe('What was used, and its cost'),
});

export const messageStopEvent = z.looseObject({ type: z.literal('message_stop') });
export const messagePingEvent = z.looseObject({ type: z.literal('ping') });

/** One event of a streamed message. */
export const messagesEvent = z.discriminatedUnion('type', [
  messageStartEvent,
  contentBlockStartEvent,
  contentBlockDeltaEvent,
  contentBlockStopEvent,
  messageDeltaEvent,
  messageStopEvent,
  messagePingEvent,
  anthropicErrorBody,
]);

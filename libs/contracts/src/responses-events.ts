// The events of a streamed response. OpenAI's own events pass through, and may have further members.
import { z } from 'zod';
import { errorBody } from './errors.ts';
import { outputPart, responsesResult } from './responses.ts';

const sequence_number = z.int().describe('Its number in the stream');
const item_id = z.string().describe('The id of the item');
const output_index = z.int().describe('Which item of the output');
const content_index = z.int().describe('Which part of the content');
const inContent = { sequence_number, item_id, output_index, content_index };
const inSummary = {
  ...{ sequence_number, item_id, output_index },
  summary_index: z.int().describe('Which part of the summary'),
};
const inCall = { sequence_number, item_id, output_index };
const delta = z.string().describe('What is new');
const text = z.string().describe('The whole text');

export const responseBegunEvent = z.looseObject({
  type: z.enum(['response.created', 'response.in_progress', 'response.failed']),
  sequence_number,
  response: responsesResult
    .partial()
    .extend({ usage: z.null().optional().describe('Nothing is charged yet, or for a failed response') })
    .describe('The response so far'),
});

export const responseEndedEvent = z.looseObject({
  type: z.enum(['response.completed', 'response.incomplete']),
  sequence_number,
  response: responsesResult.describe('The whole response'),
});

export const responseItemEvent = z.looseObject({
  type: z.enum(['response.output_item.added', 'response.output_item.done']),
  sequence_number,
  output_index,
  item: responsesResult.shape.output.element.describe('The item; whole when done'),
});

export const responseContentPartEvent = z.looseObject({
  type: z.enum(['response.content_part.added', 'response.content_part.done']),
  ...inContent,
  part: outputPart.describe('The part; whole when done'),
});

export const responseContentDeltaEvent = z.looseObject({
  type: z.enum(['response.output_text.delta', 'response.refusal.delta', 'response.reasoning_text.delta']),
  ...inContent,
  delta,
});

export const responseTextDoneEvent = z.looseObject({
  type: z.enum(['response.output_text.done', 'response.reasoning_text.done']),
  ...inContent,
  text,
});

export const responseRefusalDoneEvent = z.looseObject({
  type: z.literal('response.refusal.done'),
  ...inContent,
  refusal: z.string().describe('The whole refusal'),
});

export const responseAnnotationEvent = z.looseObject({
  type: z.literal('response.output_text.annotation.added'),
  ...inContent,
  annotation_index: z.int().describe('Which annotation of the part'),
  annotation: z.looseObject({}).describe('Such as a url_citation'),
});

export const responseSummaryPartEvent = z.looseObject({
  type: z.enum(['response.reasoning_summary_part.added', 'response.reasoning_summary_part.done']),
  ...inSummary,
  part: outputPart.describe('The part; whole when done'),
});

export const responseSummaryDeltaEvent = z.looseObject({
  type: z.literal('response.reasoning_summary_text.delta'),
  ...inSummary,
  delta,
});

export const responseSummaryDoneEvent = z.looseObject({
  type: z.literal('response.reasoning_summary_text.done'),
  ...inSummary,
  text,
});

export const responseCallDeltaEvent = z.looseObject({
  type: z.enum(['response.function_call_arguments.delta', 'response.custom_tool_call_input.delta']),
  ...inCall,
  delta,
});

export const responseArgumentsDoneEvent = z.looseObject({
  type: z.literal('response.function_call_arguments.done'),
  ...inCall,
  name: z.string().optional().describe('The function'),
  arguments: z.string().describe('All arguments, as JSON'),
});

export const responseInputDoneEvent = z.looseObject({
  type: z.literal('response.custom_tool_call_input.done'),
  ...inCall,
  input: z.string().describe('The whole input of the custom tool'),
});

export const responseErrorEvent = z.looseObject({
  type: z.literal('error'),
  sequence_number,
  error: errorBody.shape.error.describe('What went wrong; response.failed follows'),
});

/** One event of a streamed response. */
export const responsesEvent = z.discriminatedUnion('type', [
  responseBegunEvent,
  responseEndedEvent,
  responseItemEvent,
  responseContentPartEvent,
  responseContentDeltaEvent,
  responseTextDoneEvent,
  responseRefusalDoneEvent,
  responseAnnotationEvent,
  responseSummaryPartEvent,
  responseSummaryDeltaEvent,
  responseSummaryDoneEvent,
  responseCallDeltaEvent,
  responseArgumentsDoneEvent,
  responseInputDoneEvent,
  responseErrorEvent,
]);

// A computer's creation as a stream: the events that its caller gets, and how control and the host report it.
//
// On the bus the head of the answer names the computer, its body is a line of JSON for each step, a `creationProgress`, and
// its end is the computer. Before the first line, a refusal is the whole answer.
import { z } from 'zod';
import { computerObject } from './computers.ts';
import { creationProgress } from './creation-progress.ts';
import { errorEvent } from './errors.ts';
import { idOf } from './ids.ts';

export const creationProgressEvent = z.object({
  type: z.literal('progress'),
  computer_id: idOf('computer').describe('Id of the computer being created'),
  progress: creationProgress.describe('How far it is'),
});
export const createdComputerEvent = z.object({
  type: z.literal('computer'),
  computer: computerObject.describe('The answer without a stream'),
});

/** Server-sent events of `stream: true`, named by their type. Exactly one `computer` or `error` is sent, last. */
export const creationEvent = z.discriminatedUnion('type', [
  creationProgressEvent,
  createdComputerEvent,
  errorEvent,
]);
export type CreationEvent = z.infer<typeof creationEvent>;

/** Control's; its body is the request of `computers.create`. */
export const CREATION_STREAM_SUBJECT = 'control.v1.computers.create-stream';

/** Head of control's answer. */
export const creationHead = z.object({ computer_id: idOf('computer') });
export type CreationHead = z.infer<typeof creationHead>;

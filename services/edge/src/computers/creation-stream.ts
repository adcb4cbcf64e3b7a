// Sends the creation of a computer as server-sent events. A client that disconnects does not stop the creation,
// streamed or not.
import { type Bus, openReply, type Reply } from '@switchyard/bus';
import {
  CREATION_STREAM_SUBJECT,
  type CreationEvent,
  computerObject,
  creationHead,
  creationProgress,
  type OperationRequest,
} from '@switchyard/contracts';
import { type Clock, linesOf } from '@switchyard/service';
import type { FastifyReply } from 'fastify';
import { EventStream } from '../http/event-stream.ts';

interface StreamedCreation {
  readonly request: OperationRequest<'computers.create'>;
  /** Milliseconds for the whole creation. */
  readonly timeoutMs: number;
  /** Aborted when the client's key becomes invalid; this cancels the creation. */
  readonly signal: AbortSignal;
}

/** @throws ServiceError until the first event is sent; afterwards the last event has the error. */
export async function streamCreation(
  { bus, clock }: { readonly bus: Bus; readonly clock: Clock },
  { request, timeoutMs, signal }: StreamedCreation,
  reply: FastifyReply,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(request));
  const call = { subject: CREATION_STREAM_SUBJECT, head: { request_id: reply.request.id }, body, timeoutMs };
  const answer = await openReply(bus, call, signal);
  const events = new EventStream<CreationEvent>(reply, clock);
  try {
    events.end({ type: 'computer', computer: await relay(answer, events) });
  } catch (thrown) {
    events.fail(thrown);
  }
}

/** Resolves with the computer. Progress that arrives while the client is slow to read is dropped. */
async function relay({ head, body, end }: Reply, events: EventStream<CreationEvent>) {
  const { computer_id } = creationHead.parse(head);
  for await (const line of linesOf(body)) {
    const progress = creationProgress.parse(JSON.parse(line));
    if (events.hasRoom) events.send({ type: 'progress', computer_id, progress });
  }
  return computerObject.parse(await end);
}

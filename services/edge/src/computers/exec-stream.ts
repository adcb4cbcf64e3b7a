// Sends a command's output as server-sent events while it runs, at the client's pace: a slow reader slows the command,
// and at most a window of output is buffered on the way.
import { type Bus, openReply, type Reply } from '@switchyard/bus';
import {
  type ExecEvent,
  type ExecRequest,
  type HostExecEnd,
  type HostExecHead,
  hostExecEnd,
  hostSubject,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply } from 'fastify';
import { EventStream } from '../http/event-stream.ts';
import { drained } from '../http/pass-bytes.ts';
import { OutputEvents } from './output-events.ts';

interface ExecStreamOptions {
  readonly bus: Bus;
  readonly clock: Clock;
}

interface StreamedExec {
  readonly host: string;
  readonly head: HostExecHead;
  readonly body: ExecRequest;
  /** Aborted when the client disconnects or its key becomes invalid. */
  readonly signal: AbortSignal;
}

/** @throws ServiceError until the host begins; afterwards the last event has the error, also of a refused command. */
export async function streamExec(
  { bus, clock }: ExecStreamOptions,
  { host, head, body, signal }: StreamedExec,
  reply: FastifyReply,
): Promise<void> {
  const payload = Buffer.from(JSON.stringify(body));
  const answer = await openReply(
    bus,
    { subject: hostSubject(host, 'exec-stream'), head, body: payload },
    signal,
  );
  const events = new EventStream<ExecEvent>(reply, clock);
  events.send({ type: 'started', exec_id: head.request_id });
  try {
    events.end({ type: 'exit', ...(await relay(answer, events)) });
  } catch (thrown) {
    events.fail(thrown);
  }
}

async function relay({ body, end }: Reply, events: EventStream<ExecEvent>): Promise<HostExecEnd> {
  const output = new OutputEvents();
  try {
    for await (const bytes of body) {
      const event = output.push(bytes);
      if (event && !events.send(event)) await drained(events.raw);
    }
  } finally {
    const rest = output.end();
    if (rest) events.send(rest);
  }
  return hostExecEnd.parse(await end);
}

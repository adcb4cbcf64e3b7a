// A command's output as server-sent events, while it runs and at its client's pace: who reads slowly slows the command,
// and nothing but a window of it waits anywhere in between.
import type { ServerResponse } from 'node:http';
import { type Bus, openReply, type Reply } from '@switchyard/bus';
import {
  type ExecEvent,
  type ExecRequest,
  type HostExecHead,
  hostExecEnd,
  hostExecStreamSubject,
  toErrorBody,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply } from 'fastify';
import { drained } from '../http/pass-bytes.ts';
import { toServiceError } from '../http/send-error.ts';
import { OutputEvents } from './output-events.ts';

/** Proxies and clients give up on a connection that is silent; most after 30 s or more. */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

export interface ExecStreamOptions {
  readonly bus: Bus;
  readonly clock: Clock;
}

export interface StreamedExec {
  readonly host: string;
  readonly head: HostExecHead;
  readonly body: ExecRequest;
  /** Aborted when the client goes away or its key ends. */
  readonly signal: AbortSignal;
}

/** @throws ServiceError as long as the command was not taken; afterwards the last event says what went wrong. */
export async function streamExec(
  { bus, clock }: ExecStreamOptions,
  { host, head, body, signal }: StreamedExec,
  reply: FastifyReply,
): Promise<void> {
  const payload = Buffer.from(JSON.stringify(body));
  const answer = await openReply(bus, { subject: hostExecStreamSubject(host), head, body: payload }, signal);
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-request-id': head.request_id,
  });
  raw.write(encode({ type: 'started', exec_id: head.request_id }));
  const stopHeartbeat = keepAlive(raw, clock);
  try {
    await relay(answer, raw, clock);
  } catch (thrown) {
    const { error } = toErrorBody(toServiceError(thrown), head.request_id);
    raw.end(encode({ type: 'error', error }));
  } finally {
    stopHeartbeat();
  }
}

async function relay({ body, end }: Reply, raw: ServerResponse, clock: Clock): Promise<void> {
  const output = new OutputEvents();
  for await (const bytes of body) {
    const event = output.push(bytes);
    if (event && !raw.write(encode(event))) await drained(raw, clock);
  }
  const rest = output.end();
  if (rest) raw.write(encode(rest));
  raw.end(encode({ type: 'exit', ...hostExecEnd.parse(await end) }));
}

/** Returns how to stop it. */
function keepAlive(raw: ServerResponse, clock: Clock): () => void {
  const beat = () => {
    if (raw.writableLength === 0) raw.write(KEEP_ALIVE); // else there is something on its way as it is
    stop = clock.after(KEEP_ALIVE_MS, beat);
  };
  let stop = clock.after(KEEP_ALIVE_MS, beat);
  return () => stop();
}

function encode(event: ExecEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

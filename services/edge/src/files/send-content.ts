// Sends a file's bytes to an HTTP client at the client's pace.
import { request as ask, type Bus, openReply } from '@switchyard/bus';
import {
  FILE_CONTENT_SUBJECT,
  type FileContentHead,
  type FileObject,
  fileObject,
  type KeyRecord,
  ServiceError,
} from '@switchyard/contracts';
import type { Clock } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pass } from '../http/pass-bytes.ts';
import { contentHeaders, etagOf, type Range, readRange } from './content-headers.ts';

export interface SendContentOptions {
  readonly bus: Bus;
  readonly clock: Clock;
}

/** @throws ServiceError as long as nothing was sent; afterwards the connection is cut, so that no part passes for all. */
export async function sendContent(
  { bus, clock }: SendContentOptions,
  key: KeyRecord,
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(new ServiceError('service_unavailable', 'the client went away')));
  const who = { org: key.org, key_id: key.id, id };
  const { range: asked } = request.headers;
  const onlyHead = request.method === 'HEAD';
  const known = asked || onlyHead ? await ask(bus, 'files.get', who, { signal: gone.signal }) : null;
  const range = known && wantedRange(request, known);
  if (known && onlyHead) {
    begin(reply, known, range);
    reply.raw.end();
    return;
  }
  const head: FileContentHead = { request_id: request.id, ...who, ...(range ? { range } : {}) };
  const answer = await openReply(bus, { subject: FILE_CONTENT_SUBJECT, head }, gone.signal);
  const file = fileObject.parse(answer.head);
  await pass(answer.body, reply, clock, () => begin(reply, file, range));
}

/** @throws ServiceError `range_not_satisfiable`. */
function wantedRange(request: FastifyRequest, file: FileObject): Range | null {
  const condition = request.headers['if-range'];
  if (condition !== undefined && condition !== etagOf(file)) return null;
  const range = readRange(request.headers.range, file.bytes);
  if (range === 'unsatisfiable')
    throw new ServiceError('range_not_satisfiable', `the file has ${file.bytes} bytes`, {
      details: { bytes: file.bytes },
    });
  return range;
}

function begin(reply: FastifyReply, file: FileObject, range: Range | null): void {
  reply.hijack();
  reply.raw.writeHead(range ? 206 : 200, contentHeaders(file, range, reply.request.id));
}

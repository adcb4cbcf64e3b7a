// Sends a file's bytes to an HTTP client at the client's pace.
import { request as ask, type Bus, openReply } from '@switchyard/bus';
import {
  type ContentPart,
  FILE_CONTENT_SUBJECT,
  type FileContentHead,
  type FileObject,
  fileObject,
  type KeyRecord,
  partOf,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { askedPart } from '../http/byte-range.ts';
import { hasAlready, sendBytes, sendNotModified } from '../http/pass-bytes.ts';
import { contentHeaders, etagOf } from './content-headers.ts';

interface AskedContent {
  readonly caller: Pick<KeyRecord, 'id' | 'org'>;
  /** Id of the file. */
  readonly id: string;
  /** Aborted when the client no longer needs the answer. */
  readonly signal: AbortSignal;
}

/**
 * @throws ServiceError until the first byte; later the connection is cut off, so that a partial file never looks whole.
 */
export async function sendContent(
  bus: Bus,
  { caller, id, signal }: AskedContent,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const who = { org: caller.org, key_id: caller.id, id };
  const onlyHead = request.method === 'HEAD';
  const { range: asked, 'if-none-match': had } = request.headers;
  const fileFirst = onlyHead || asked !== undefined || had !== undefined;
  const known = fileFirst ? await ask(bus, 'files.get', who, { signal }) : null;
  if (known && hasAlready(request, etagOf(known)))
    return sendNotModified(reply, contentHeaders(known, null, request.id));
  const range = known && partOf({ bytes: known.bytes, etag: etagOf(known) }, askedPart(request));
  if (known && onlyHead) return sendBytes(reply, headOf(known, range, request.id), null);
  const head: FileContentHead = { request_id: request.id, ...who, ...(range ? { range } : {}) };
  const answer = await openReply(bus, { subject: FILE_CONTENT_SUBJECT, head }, signal);
  const file = fileObject.parse(answer.head);
  await sendBytes(reply, headOf(file, range, request.id), answer.body, signal);
}

function headOf(file: FileObject, range: ContentPart | null, requestId: string) {
  return { status: range ? 206 : 200, headers: contentHeaders(file, range, requestId) };
}

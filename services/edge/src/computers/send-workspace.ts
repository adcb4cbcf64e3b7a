// Sends the content of a path in /workspace: a file's bytes at the client's pace, or a folder's entries as JSON.
import { type Bus, openReply } from '@switchyard/bus';
import {
  type HostFileReadHead,
  type HostFileReadReply,
  hostFileReadReply,
  hostSubject,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { downloadHeaders } from '../files/content-headers.ts';
import { askedPart } from '../http/byte-range.ts';
import { hasAlready, sendBytes, sendNotModified } from '../http/pass-bytes.ts';

type SentFile = Extract<HostFileReadReply, { kind: 'file' }>;

interface AskedPath {
  readonly host: string;
  readonly org: string;
  /** Id of the computer. */
  readonly id: string;
  readonly path: string;
  /** Aborted when the client no longer needs the answer. */
  readonly signal: AbortSignal;
}

/**
 * @throws ServiceError until the first byte; later the connection is cut off, so that a partial file never looks whole.
 */
export async function sendWorkspace(
  bus: Bus,
  { host, org, id, path, signal }: AskedPath,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const head: HostFileReadHead = {
    request_id: request.id,
    org,
    id,
    path,
    ...askedPart(request),
  };
  const answer = await openReply(bus, { subject: hostSubject(host, 'file-read'), head }, signal);
  const found = hostFileReadReply.parse(answer.head);
  const headers = { ...headersOf(found), 'x-request-id': request.id };
  if (found.kind === 'file' && hasAlready(request, found.etag)) {
    answer.cancel();
    return sendNotModified(reply, headers);
  }
  const status = found.kind === 'file' && found.part ? 206 : 200;
  const onlyHead = request.method === 'HEAD';
  if (onlyHead) answer.cancel();
  await sendBytes(reply, { status, headers }, onlyHead ? null : answer.body, signal);
}

function headersOf(found: HostFileReadReply): Record<string, string> {
  if (found.kind === 'folder') return { 'content-type': 'application/json; charset=utf-8' };
  return fileHeaders(found);
}

function fileHeaders({ name, bytes, modified_at, etag, part }: SentFile): Record<string, string> {
  return {
    ...downloadHeaders({ name, mediaType: 'application/octet-stream', bytes, etag, part }),
    'cache-control': 'private, no-cache',
    'last-modified': new Date(modified_at).toUTCString(),
  };
}

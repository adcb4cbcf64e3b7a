// Sends the bytes of a video, or a part of them, to an HTTP client at the client's pace.
import { type Bus, openReply } from '@switchyard/bus';
import {
  ServiceError,
  VIDEO_CONTENT_SUBJECT,
  type VideoContentHead,
  type VideoContentReply,
  videoContentReply,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readByteRange } from '../http/byte-range.ts';
import { pass } from '../http/pass-bytes.ts';
import type { SignedVideo } from './url-signer.ts';

const ENDINGS: Readonly<Record<string, string>> = { 'video/webm': 'webm', 'video/quicktime': 'mov' };

/**
 * @param signal aborted when the client no longer needs the video, or may no longer have it
 * @throws ServiceError until the first byte; later the connection is cut off, so that a partial video never looks
 * whole.
 */
export async function sendVideo(
  bus: Bus,
  video: SignedVideo,
  signal: AbortSignal,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const onlyHead = request.method === 'HEAD';
  const range = readByteRange(request.headers.range);
  const head: VideoContentHead = { ...video, range };
  const answer = await openReply(bus, { subject: VIDEO_CONTENT_SUBJECT, head }, signal);
  const part = videoContentReply.parse(answer.head);
  if (part.first === null || part.last === null) {
    answer.cancel();
    reply.header('content-range', `bytes */${part.bytes}`);
    const details = { bytes: part.bytes };
    throw new ServiceError(
      'range_not_satisfiable',
      `The range is outside the video, which has ${part.bytes} bytes. Use a smaller range.`,
      { details },
    );
  }
  const begin = () => {
    reply.hijack();
    reply.raw.writeHead(range ? 206 : 200, headersOf(video.id, part, range !== null, request.id));
  };
  if (onlyHead) {
    answer.cancel();
    begin();
    reply.raw.end();
    return;
  }
  await pass(answer.body, reply, begin, signal);
}

function headersOf(
  id: string,
  { media_type: mediaType, bytes, first, last }: VideoContentReply,
  isPart: boolean,
  requestId: string,
): Record<string, string> {
  return {
    'content-type': mediaType,
    'content-length': String((last ?? 0) - (first ?? 0) + 1),
    'content-disposition': `inline; filename="${id}.${ENDINGS[mediaType] ?? 'mp4'}"`,
    'accept-ranges': 'bytes',
    'cache-control': 'private',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; media-src 'self'",
    'x-request-id': requestId,
    ...(isPart ? { 'content-range': `bytes ${first}-${last}/${bytes}` } : {}),
  };
}

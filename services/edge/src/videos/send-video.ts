// Sends the bytes of a video, or a part of them, to an HTTP client at the client's pace.
import { type Bus, openReply } from '@switchyard/bus';
import { VIDEO_CONTENT_SUBJECT, type VideoContentHead, videoContentReply } from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { partHeaders, readByteRange } from '../http/byte-range.ts';
import { sendBytes } from '../http/pass-bytes.ts';
import type { SignedVideo } from './video-tokens.ts';

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
  const { media_type: mediaType, bytes, part } = videoContentReply.parse(answer.head);
  const headers = {
    ...partHeaders(mediaType, bytes, part),
    'content-disposition': `inline; filename="${video.id}.${ENDINGS[mediaType] ?? 'mp4'}"`,
    'cache-control': 'private',
    'content-security-policy': "default-src 'none'; media-src 'self'",
    'x-request-id': request.id,
  };
  if (onlyHead) answer.cancel();
  await sendBytes(reply, { status: part ? 206 : 200, headers }, onlyHead ? null : answer.body, signal);
}

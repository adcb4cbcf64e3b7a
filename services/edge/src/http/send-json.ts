// Sends JSON from a route that writes its answer itself.
import type { FastifyReply } from 'fastify';

export function sendJson(reply: FastifyReply, body: unknown, status = 200): void {
  sendJsonBytes(reply, Buffer.from(JSON.stringify(body)), status);
}

/** Sends JSON bytes unchanged. */
export function sendJsonBytes(reply: FastifyReply, json: Buffer, status = 200): void {
  reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('x-request-id', reply.request.id)
    .send(json);
}

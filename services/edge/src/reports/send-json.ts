// JSON from a route that may answer in other forms too.
import type { FastifyReply } from 'fastify';

export function sendJson(reply: FastifyReply, body: unknown): void {
  reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('x-request-id', reply.request.id)
    .send(JSON.stringify(body));
}

// Where clients reach us: what an address in an answer begins with.
import type { FastifyRequest } from 'fastify';

/** @param publicUrl as it is set; undefined: where the request was sent to. @returns without a slash at its end */
export function publicOrigin(publicUrl: string | undefined, request: FastifyRequest): string {
  return publicUrl?.replace(/\/$/, '') ?? `${request.protocol}://${request.host}`;
}

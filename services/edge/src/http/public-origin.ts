// The origin at which clients reach the API, for addresses in answers.
import type { FastifyRequest } from 'fastify';

/**
 * @param publicUrl the setting; undefined: use the origin of the request. @returns the origin without a trailing slash
 */
export function publicOrigin(publicUrl: string | undefined, request: FastifyRequest): string {
  return publicUrl?.replace(/\/$/, '') ?? `${request.protocol}://${request.host}`;
}

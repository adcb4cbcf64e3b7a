// Steps of a request before its work.
import { ServiceError } from '@switchyard/contracts';
import type { FastifyRequest } from 'fastify';

/**
 * The result of a step that comes before any work. When it is impossible at the moment, the Idempotency-Key of the
 * request stays free: a repeat may succeed.
 */
export async function beforeWork<T>(run: FastifyRequest['idempotent'], step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'service_unavailable') run?.forget();
    throw error;
  }
}

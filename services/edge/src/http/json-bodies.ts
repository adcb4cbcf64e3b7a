// Reads JSON bodies as bytes, without a second copy, large ones under the byte budget.
import type { HeldBytes } from '@switchyard/service';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BodyBuffer } from './body-buffer.ts';
import { BodyIntake, type IntakeDeps } from './body-intake.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The place of a large body in the byte budget until it is handed on; an error releases it too. */
    heldBody: HeldBytes | null;
  }
}

/** During the check a body is in memory twice: its bytes and its parsed values. */
const COPIES = 2;

export function readJsonBodies(app: FastifyInstance, deps: IntakeDeps): void {
  app.decorateRequest('heldBody', null);
  app.addContentTypeParser('application/json', (request: FastifyRequest) => readJsonBody(request, deps));
}

/** @throws ServiceError as `BodyIntake.read` does */
async function readJsonBody(request: FastifyRequest, deps: IntakeDeps): Promise<Buffer> {
  const bytesMax = request.routeOptions.bodyLimit ?? 0;
  const limit = `The body exceeds ${bytesMax} bytes. Send less.`;
  const intake = new BodyIntake(request.raw, {
    ...deps,
    org: request.apiKey?.org ?? null,
    bytesMax,
    limit,
    memoryFor: (bytes) => COPIES * bytes,
  });
  request.heldBody = intake;
  const body = new BodyBuffer({ expectedBytes: intake.declaredBytes, bytesMax, limit });
  await intake.read((piece) => body.append(piece));
  return body.bytes;
}

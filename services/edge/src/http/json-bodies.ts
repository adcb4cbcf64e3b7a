// JSON bodies as bytes, each put together without a second copy, large ones under the byte budget.
import type { ByteBudget, Clock, HeldBytes } from '@switchyard/service';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BodyBuffer } from './body-buffer.ts';
import { BodyIntake } from './body-intake.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The place in the byte budget of a large body, until it has been handed on; released with an error at the latest. */
    heldBody: HeldBytes | null;
  }
}

/** A body is in memory twice while it is checked: its bytes, and the values in it. */
const COPIES = 2;

export interface JsonBodiesOptions {
  budget: ByteBudget;
  clock: Clock;
}

export function readJsonBodies(app: FastifyInstance, on: JsonBodiesOptions): void {
  app.decorateRequest('heldBody', null);
  app.addContentTypeParser('application/json', (request: FastifyRequest) => readJsonBody(request, on));
}

/** @throws ServiceError as `BodyIntake.read` does */
async function readJsonBody(request: FastifyRequest, { budget, clock }: JsonBodiesOptions): Promise<Buffer> {
  const bytesMax = request.routeOptions.bodyLimit ?? 0;
  const limit = `the body is over the limit of ${bytesMax} bytes`;
  const intake = new BodyIntake(request.raw, {
    budget,
    clock,
    bytesMax,
    limit,
    memoryFor: (bytes) => COPIES * bytes,
  });
  request.heldBody = intake;
  const body = new BodyBuffer({ expectedBytes: intake.declaredBytes, bytesMax, limit });
  await intake.read((piece) => body.append(piece));
  return body.bytes;
}

// Converts the bytes of a body to validated values, or to coded errors that name the field.
import { fromZodError, ServiceError } from '@switchyard/contracts';
import type { z } from 'zod';
import { CHECKED_BODIES, type CheckedBody, type CheckedBodyName } from './checked-bodies.ts';
import { requireBoundedJson } from './json-bounds.ts';

/** @throws ServiceError `invalid_json`, `invalid_request` or `unknown_field`. */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  return check(schema, parseJson(body));
}

/**
 * Returns the members that a route reads of a body that may be large.
 * @throws ServiceError `invalid_json`, `invalid_request` or `unknown_field`.
 */
export function checkBody<N extends CheckedBodyName>(name: N, body: unknown): CheckedBody<N> {
  const { schema, members } = CHECKED_BODIES[name];
  const checked = parseBody(schema as z.ZodType<Record<string, unknown>>, body);
  const read = members.filter((member) => member in checked).map((member) => [member, checked[member]]);
  return Object.fromEntries(read) as CheckedBody<N>;
}

/** @throws ServiceError `invalid_request` or `unknown_field` that names the parameter. */
export function check<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw fromZodError(parsed.error);
  return parsed.data;
}

/** @throws ServiceError `invalid_json`; `invalid_request` for a body that exceeds a bound */
export function parseJson(body: unknown, nodesMax?: number): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0)
    throw new ServiceError('invalid_json', 'No JSON body. Send one with Content-Type: application/json.');
  requireBoundedJson(body, nodesMax);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw notJson(cause);
  }
}

/** @param cause the error of the parser */
export function notJson(cause: unknown): ServiceError {
  const message = `The body is not JSON (${(cause as Error).message}). Send valid JSON.`;
  return new ServiceError('invalid_json', message, { cause });
}

// Bodies come as bytes; here they become checked values, or coded errors that name the field.
import { fromZodError, ServiceError } from '@switchyard/contracts';
import type { z } from 'zod';

/** @throws ServiceError `invalid_json`, `invalid_request` or `unknown_field`. */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  return check(schema, parseJson(body));
}

/** @throws ServiceError `invalid_request` or `unknown_field`, naming the parameter. */
export function check<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw fromZodError(parsed.error);
  return parsed.data;
}

export function parseJson(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0)
    throw new ServiceError(
      'invalid_json',
      'the request needs a JSON body, with Content-Type: application/json',
    );
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new ServiceError('invalid_json', `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

// The request of every local model, and how an invalid body becomes a refusal.
import { fromZodError } from '@switchyard/contracts';
import type { z } from 'zod';
import { LocalRefusal } from './local-refusal.ts';

export interface LocalRequest {
  /** The caller's JSON, parsed. */
  body: unknown;
  stream: boolean;
  signal: AbortSignal;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** @throws LocalRefusal naming the first field at fault. */
export function parseRequest<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { message, param } = fromZodError(parsed.error);
  throw new LocalRefusal(400, 'invalid_request', message, param ?? null);
}

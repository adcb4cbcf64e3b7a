// Reads the message of an error body in another shape than OpenAI's.
import { z } from 'zod';

const said = z.string().min(1);
const message = z.object({ message: said }).transform((one) => one.message);
/** FastAPI's list of validation errors, which several makers use. */
const invalid = z
  .array(z.object({ loc: z.array(z.union([z.string(), z.number()])).optional(), msg: said }))
  .min(1)
  .transform((issues) => issues.map(({ loc = [], msg }) => [...loc, msg].join(': ')).join('; '));

const shapes = z.union([
  z.object({ detail: z.union([said, message, invalid]) }).transform(({ detail }) => detail),
  z.object({ error: z.union([said, message]) }).transform(({ error }) => error),
  message,
  z.object({ err_msg: said }).transform(({ err_msg }) => err_msg),
]);

/** The message in the body; null for an unknown shape. */
export function wordsIn(body: string): string | null {
  try {
    return shapes.safeParse(JSON.parse(body)).data ?? null;
  } catch {
    return null;
  }
}

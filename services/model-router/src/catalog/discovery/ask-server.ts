// One question to a server of models: JSON in, JSON out, within a time and a length.
import type { Clock } from '@switchyard/service';
import type { z } from 'zod';

export const ASK_TIMEOUT_MS = 5_000;
/** A model's card may have its whole licence in it. */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

export interface AskOptions {
  fetch: typeof fetch;
  clock: Clock;
  /** Ends the question from outside. */
  signal: AbortSignal;
  apiKey: string | undefined;
}

/**
 * GETs the address, or POSTs `body` to it.
 * @throws Error that says in a few words what was wrong: no answer, a status, a shape that is not the expected one.
 */
export async function askServer<S extends z.ZodType>(
  url: string,
  schema: S,
  { fetch, clock, signal, apiKey }: AskOptions,
  body?: object,
): Promise<z.infer<S>> {
  const late = new AbortController();
  const takeBack = clock.after(ASK_TIMEOUT_MS, () =>
    late.abort(new Error(`no answer in ${ASK_TIMEOUT_MS} ms`)),
  );
  try {
    const response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      headers: {
        accept: 'application/json',
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.any([signal, late.signal]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`it answered ${response.status}`);
    }
    const parsed = schema.safeParse(JSON.parse(await readText(response)));
    if (!parsed.success)
      throw new Error('its answer is not of the documented shape', { cause: parsed.error });
    return parsed.data;
  } catch (error) {
    throw new Error(inWords(error), { cause: error });
  } finally {
    takeBack();
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its answer is over ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `fetch failed` says nothing; the code of its cause does. */
function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SyntaxError) return 'its answer is not JSON';
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : error.message;
}

// Sends one JSON request to a model server, with a time limit and a size limit.
import type { Clock } from '@switchyard/service';
import type { z } from 'zod';
import { readBody } from '../../http/read-body.ts';
import { withinOrigin } from '../../http/within-origin.ts';

export const ASK_TIMEOUT_MS = 5_000;
/** A model's card may include its whole licence. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

export interface AskOptions {
  fetch: typeof fetch;
  clock: Clock;
  /** Cancels the request. */
  signal: AbortSignal;
  apiKey: string | undefined;
}

/** The connection failed, or ended before the answer did, or the answer was late. */
export class NoAnswer extends Error {}

/**
 * GETs the URL, or POSTs `body` to it.
 * @throws NoAnswer; Error for an error status or an unexpected answer; both with a short reason
 */
export async function askServer<S extends z.ZodType>(
  url: string,
  schema: S,
  { fetch, clock, signal, apiKey }: AskOptions,
  body?: object,
): Promise<z.infer<S>> {
  const late = new AbortController();
  const cancelTimer = clock.after(ASK_TIMEOUT_MS, () =>
    late.abort(new Error(`no answer in ${ASK_TIMEOUT_MS} ms`)),
  );
  try {
    const method = body ? 'POST' : 'GET';
    const response = await withinOrigin(url, method, (at) =>
      fetch(at, {
        method,
        headers: {
          accept: 'application/json',
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.any([signal, late.signal]),
        redirect: 'manual',
      }),
    );
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`it answered ${response.status}`);
    }
    const parsed = schema.safeParse(
      JSON.parse((await readBody(response, ANSWER_BYTES_MAX)).toString('utf8')),
    );
    if (!parsed.success)
      throw new Error('its answer is not of the documented shape', { cause: parsed.error });
    return parsed.data;
  } catch (error) {
    if (error instanceof SyntaxError) throw new Error('its answer is not JSON', { cause: error });
    // A TypeError of `fetch`, or the reason of a signal.
    const isSilent = error instanceof TypeError || signal.aborted || late.signal.aborted;
    throw new (isSilent ? NoAnswer : Error)(inWords(error), { cause: error });
  } finally {
    cancelTimer();
  }
}

/** Uses the code of the cause, since `fetch failed` is not informative. */
function inWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : error.message;
}

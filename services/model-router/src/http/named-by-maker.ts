// GETs a URL that a maker's answer named: a picture, a video, the state of a job. URLs at the maker are requested
// directly, others only through the egress; otherwise a maker could make us read our private network.
import type { Egress } from '@switchyard/egress';
import { Response } from 'undici';

const MIB = 1024 * 1024;
/** Readers of the answer have limits of their own. */
const ANSWER_BYTES_MAX = 2_048 * MIB;
const ANSWER_MS_MAX = 3_600_000;
/** They describe the encoded answer; the egress has decoded it. */
const OF_THE_WIRE = ['content-encoding', 'content-length', 'transfer-encoding'];

/** @param base base URL of the maker */
export function isAtMaker(url: URL, base: string): boolean {
  return url.origin === new URL(base).origin;
}

interface NamedRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | null | undefined;
}

/** @throws ServiceError `url_not_allowed`, `url_fetch_failed`; the signal's reason */
export async function getElsewhere(
  egress: Pick<Egress, 'fetch'>,
  url: URL,
  { headers = {}, signal }: NamedRequest,
): Promise<Response> {
  const answer = await egress.fetch(url.href, {
    ...{ headers, bytesMax: ANSWER_BYTES_MAX, timeoutMs: ANSWER_MS_MAX, redirectsMax: 0 },
    ...(signal ? { signal } : {}),
  });
  const kept = Object.entries(answer.headers).filter(([name]) => !OF_THE_WIRE.includes(name));
  const hasBody = answer.status !== 204 && answer.status !== 205 && answer.status !== 304;
  if (!hasBody) answer.close();
  return new Response(hasBody ? ReadableStream.from(answer.body) : null, {
    status: answer.status,
    headers: kept,
  });
}

// Downloads finished videos.
import { Readable } from 'node:stream';
import { type Response, fetch as undiciFetch } from 'undici';
import { getElsewhere, isAtMaker } from '../../http/named-by-maker.ts';
import { withinOrigin } from '../../http/within-origin.ts';
import type { ConnectedDeps } from '../maker.ts';

/**
 * Requests a URL that a maker named, without the maker's key.
 * @param base base URL of the maker
 */
export function download(
  url: string | URL,
  base: string,
  { dispatcher, egress }: Pick<ConnectedDeps, 'dispatcher' | 'egress'>,
  signal: AbortSignal,
): Promise<Response> {
  return withinOrigin(url, 'GET', (at) =>
    isAtMaker(at, base)
      ? undiciFetch(at, { signal, dispatcher, redirect: 'manual' })
      : getElsewhere(egress, at, { signal }),
  );
}

/** @throws Error for an error status */
export async function videoBytes(response: Response): Promise<AsyncIterable<Uint8Array>> {
  if (response.ok && response.body) return Readable.fromWeb(response.body);
  await response.body?.cancel();
  throw new Error(`The maker answered ${response.status} to the download of the video.`);
}

// Downloads finished videos.
import { Readable } from 'node:stream';
import { type Response, fetch as undiciFetch } from 'undici';
import { withinOrigin } from '../../http/within-origin.ts';
import type { ConnectedDeps } from '../maker.ts';

/** Requests a URL that a maker named, without the maker's key. */
export function download(
  url: string | URL,
  { dispatcher }: Pick<ConnectedDeps, 'dispatcher'>,
  signal: AbortSignal,
): Promise<Response> {
  return withinOrigin(url, 'GET', (at) => undiciFetch(at, { signal, dispatcher, redirect: 'manual' }));
}

/** @throws Error for an error status */
export async function videoBytes(response: Response): Promise<AsyncIterable<Uint8Array>> {
  if (response.ok && response.body) return Readable.fromWeb(response.body);
  await response.body?.cancel();
  throw new Error(`The maker answered ${response.status} to the download of the video.`);
}

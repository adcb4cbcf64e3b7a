// A request in a dialect that the maker itself speaks: the caller's bytes go out, the maker's bytes come back, errors too.
import { readRetryAfter } from '../../http/retry-after.ts';
import type { CallOptions, ConnectedDeps, UpstreamAnswer, UpstreamRequest } from '../maker.ts';
import type { MakerDeclaration } from './declaration.ts';
import { providerFetch } from './provider-fetch.ts';
import { once } from './translation.ts';

/** @throws network errors */
export async function passThrough(
  declaration: MakerDeclaration,
  { secret, dispatcher, egress, now }: ConnectedDeps,
  { upstream, body, requestId, native, stream: streams }: UpstreamRequest,
  { signal, onRequest }: Pick<CallOptions, 'signal' | 'onRequest'>,
): Promise<UpstreamAnswer> {
  const endpoint = native && declaration.native?.[native.dialect];
  if (!endpoint) throw new Error(`the adapter ${declaration.name} does not speak ${native?.dialect}`);
  const base = upstream.base_url ?? declaration.baseUrl;
  const url = `${base.replace(/\/$/, '')}${endpoint.path}`;
  const key = secret(upstream.api_key_env ?? declaration.apiKeyEnv) ?? '';
  const connected = { dispatcher, egress, base, requestId, streams, onRequest };
  const fetch = providerFetch({ ...connected, members: new Map(), places: declaration });
  const headers = { ...native.headers, ...endpoint.headers(key), 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body), signal });
  return {
    status: response.status,
    contentType: response.headers.get('content-type') ?? 'application/octet-stream',
    retryAfterS: response.ok ? null : readRetryAfter(Object.fromEntries(response.headers), now),
    body: response.body ?? once(new Uint8Array()),
  };
}

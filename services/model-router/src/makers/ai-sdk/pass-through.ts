// A request in a dialect that the maker itself speaks: the caller's bytes go out, the maker's bytes come back. Errors are
// thrown as those of a provider package, so that they are classified alike.
import { APICallError } from '@ai-sdk/provider';
import type { CallOptions, ConnectedDeps, UpstreamAnswer, UpstreamRequest } from '../maker.ts';
import type { MakerDeclaration } from './declaration.ts';
import { wordsIn } from './error-words.ts';
import { providerFetch } from './provider-fetch.ts';

/** @throws APICallError for an error answer; network errors */
export async function passThrough(
  declaration: MakerDeclaration,
  { secret, dispatcher, egress }: ConnectedDeps,
  { upstream, body, requestId, native, stream: streams }: UpstreamRequest,
  { signal, onRequest }: Pick<CallOptions, 'signal' | 'onRequest'>,
): Promise<Pick<UpstreamAnswer, 'contentType' | 'body'>> {
  const endpoint = native && declaration.native?.[native.dialect];
  if (!endpoint) throw new Error(`the adapter ${declaration.name} does not speak ${native?.dialect}`);
  const base = upstream.base_url ?? declaration.baseUrl;
  const url = `${base.replace(/\/$/, '')}${endpoint.path}`;
  const key = secret(upstream.api_key_env ?? declaration.apiKeyEnv) ?? '';
  const connected = { dispatcher, egress, base, requestId, streams, onRequest };
  const fetch = providerFetch({ ...connected, members: new Map(), places: declaration });
  const headers = { ...native.headers, ...endpoint.headers(key), 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body), signal });
  if (!response.ok || response.body === null) throw await errorOf(response, url);
  const contentType = response.headers.get('content-type') ?? 'application/octet-stream';
  return { contentType, body: response.body as AsyncIterable<Uint8Array> };
}

async function errorOf(response: Response, url: string): Promise<APICallError> {
  const responseBody = await response.text();
  return new APICallError({
    message: wordsIn(responseBody) ?? '',
    url,
    requestBodyValues: {},
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
    responseBody,
  });
}

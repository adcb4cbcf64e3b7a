// A closed loop of callers against one address: how long each call took, how many went through.
import { Pool } from 'undici';
import { quantile } from './figures.ts';

export interface Target {
  /** Base URL, `/v1` included. */
  url: string;
  key: string;
  model: string;
  /** Further headers of each request. */
  headers?: Readonly<Record<string, string>>;
}

export interface Measured {
  /** Answered calls. */
  calls: number;
  callsPerSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Milliseconds until the first byte of the body. */
  firstByteP50: number;
  errors: number;
}

export interface LoadOptions {
  connections: number;
  seconds: number;
  stream: boolean;
}

const MESSAGES = [
  { role: 'system', content: 'You are a helpful assistant that answers shortly and to the point.' },
  { role: 'user', content: 'What does an AI gateway do between an application and its model providers?' },
];

export async function measure(
  { url, key, model, headers: more }: Target,
  { connections, seconds, stream }: LoadOptions,
): Promise<Measured> {
  const { origin, pathname } = new URL(`${url}/chat/completions`);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const body = JSON.stringify({
    model,
    messages: MESSAGES,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...more };
  const took: number[] = [];
  const firstByte: number[] = [];
  let errors = 0;
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  const caller = async () => {
    while (performance.now() < until) {
      const calledAt = performance.now();
      const response = await pool.request({ path: pathname, method: 'POST', headers, body });
      let firstAt = 0;
      let text = '';
      for await (const bytes of response.body) {
        firstAt ||= performance.now();
        text += bytes;
      }
      if (response.statusCode === 200 && (!stream || text.trimEnd().endsWith('[DONE]'))) {
        took.push(performance.now() - calledAt);
        firstByte.push(firstAt - calledAt);
      } else errors += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  const elapsed = (performance.now() - startedAt) / 1_000;
  await pool.close();
  took.sort((a, b) => a - b);
  firstByte.sort((a, b) => a - b);
  return {
    calls: took.length,
    callsPerSecond: took.length / elapsed,
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    firstByteP50: quantile(firstByte, 0.5),
    errors,
  };
}

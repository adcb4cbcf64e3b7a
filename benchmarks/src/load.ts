// A closed loop of callers against one address: how long each call took, how many went through.
import { Pool } from 'undici';
import { quantile } from './figures.ts';

export interface Target {
  /** Base URL, `/v1` included. */
  url: string;
  key: string;
  model: string;
}

export interface Measured {
  callsPerSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
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
  { url, key, model }: Target,
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
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const took: number[] = [];
  let errors = 0;
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  const caller = async () => {
    while (performance.now() < until) {
      const calledAt = performance.now();
      const response = await pool.request({ path: pathname, method: 'POST', headers, body });
      const text = await response.body.text();
      if (response.statusCode === 200 && (!stream || text.endsWith('[DONE]\n\n')))
        took.push(performance.now() - calledAt);
      else errors += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  const elapsed = (performance.now() - startedAt) / 1_000;
  await pool.close();
  took.sort((a, b) => a - b);
  return {
    callsPerSecond: took.length / elapsed,
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    errors,
  };
}

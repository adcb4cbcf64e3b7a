// Where Switchyard is, with which key, and the two ways to talk to it that the examples use: the official OpenAI client
// for models, plain HTTP for the rest.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import OpenAI from 'openai';

const REPOSITORY = resolve(import.meta.dirname, '..');

export const url = (process.env.SWITCHYARD_URL ?? 'http://127.0.0.1:8080').replace(/\/+$/, '');
export const key = process.env.SWITCHYARD_KEY ?? (await keptKey());

/** The key that the first `npm start` made and kept. */
async function keptKey(): Promise<string> {
  const file = resolve(REPOSITORY, process.env.SWITCHYARD_DATA ?? '.data', 'key');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new Error(`no key: set SWITCHYARD_KEY, or run \`npm start\` first, which keeps one in ${file}`, {
      cause,
    });
  }
}

/** The official client; nothing in it knows of Switchyard but its address. */
export function openai(apiKey = key): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey });
}

/** An error that the API answered: `code` is what programs go by, the message is for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, { code, message }: { code: string; message: string }) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** `api` with its key chosen already. */
export type Call = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** One call of the HTTP API: its JSON. @throws ApiError */
export async function api<T>(method: string, path: string, body?: unknown, apiKey = key): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T & { error: { code: string; message: string } };
  if (!response.ok) throw new ApiError(response.status, answer.error);
  return answer;
}

/** Dollars of an answer's `usage.cost`, which every model answer has beside OpenAI's own fields. */
export function costOf(usage: object | null | undefined): number {
  if (usage && 'cost' in usage && typeof usage.cost === 'number') return usage.cost;
  throw new Error('the answer tells no cost');
}

/** The whole figure, never an exponent: 0.00000885 -> $0.00000885 */
export function dollars(amount: number): string {
  return `$${amount.toFixed(9).replace(/0{1,7}$/, '')}`;
}

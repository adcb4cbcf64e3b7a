// The address and the key of Switchyard, and the two clients that the examples use: the official OpenAI client, and our
// own for what OpenAI does not have.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Switchyard } from '@switchyard/client';
import OpenAI from 'openai';

const REPOSITORY = resolve(import.meta.dirname, '..');
const DATA = resolve(REPOSITORY, process.env.SWITCHYARD_DATA ?? '.data');

export const url = (process.env.SWITCHYARD_URL ?? (await runningUrl())).replace(/\/+$/, '');
export const key = process.env.SWITCHYARD_KEY ?? (await keptKey());

/** The address of the stack that `npm start` runs on the data folder. It is in a file only while the stack runs. */
async function runningUrl(): Promise<string> {
  const addresses = await readFile(resolve(DATA, 'run', 'addresses.json'), 'utf8').catch(() => '{}');
  return JSON.parse(addresses).SWITCHYARD_URL ?? 'http://127.0.0.1:8080';
}

/** The key that the first `npm start` made and kept. */
async function keptKey(): Promise<string> {
  const file = resolve(DATA, 'key');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new Error(`no key: set SWITCHYARD_KEY, or run \`npm start\` first, which keeps one in ${file}`, {
      cause,
    });
  }
}

/** The official client, with Switchyard's address as its base URL. */
export function openai(apiKey = key): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey });
}

/** Our client. It sends a request once, so that the example shows what it does. */
export function switchyard(apiKey = key): Switchyard {
  const sy = new Switchyard({ url, apiKey, maxRetries: 0 });
  sy.api.use({
    onError: ({ error: cause }) =>
      new Error(`nothing answers at ${url}: run \`npm start\`, or set SWITCHYARD_URL`, { cause }),
  });
  return sy;
}

/** The dollars in `usage.cost`, which every model answer has in addition to OpenAI's fields. */
export function costOf(usage: object | null | undefined): number {
  if (usage && 'cost' in usage && typeof usage.cost === 'number') return usage.cost;
  throw new Error('the answer has no usage.cost');
}

/** A plain decimal, never an exponent: 0.00000885 -> $0.00000885 */
export function dollars(amount: number): string {
  return `$${amount.toFixed(9).replace(/0{1,7}$/, '')}`;
}

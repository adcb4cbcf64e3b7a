// Requests to a stack; any answer but a success ends the benchmark.
import { randomBytes } from 'node:crypto';
import type { TestStack } from '@switchyard/testing';

type Address = Pick<TestStack, 'url' | 'key'>;

interface RequestOptions {
  /** Sent as JSON. */
  readonly json?: object;
  readonly form?: FormData;
  readonly signal?: AbortSignal;
}

export async function postJson<T>(stack: Address, path: string, json: object): Promise<T> {
  return (await (await request(stack, path, { json })).json()) as T;
}

/** Puts a file under Storage. @returns its id */
export async function storeFile(stack: Address, form: FormData): Promise<string> {
  return ((await (await request(stack, '/v1/files', { form })).json()) as { id: string }).id;
}

export function randomFile(bytes: number): FormData {
  const form = new FormData();
  form.set('purpose', 'user_data');
  form.set('file', new Blob([randomBytes(bytes)]), 'random.bin');
  return form;
}

/** A POST of JSON or a form, otherwise a GET. @throws Error for any status but a success */
export async function request(
  { url, key }: Address,
  path: string,
  { json, form, signal }: RequestOptions = {},
): Promise<Response> {
  const body = json === undefined ? form : JSON.stringify(json);
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
    ...(signal ? { signal } : {}),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

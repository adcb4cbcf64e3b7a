// Records what a client received through its own fetch, and compares each answer's cost with the bill.
import type { TestStack } from '@switchyard/testing';
import { MongoClient } from 'mongodb';
import { expect } from 'vitest';

/** Time until a call is in the ledger. */

export interface RecordedCall {
  id: string;
  /** The whole answer, as the client got it; empty when the client left before its end. */
  text: Promise<string>;
}

/** A fetch that keeps every answer of a model in `calls`. */
export function recordingFetch(calls: RecordedCall[]): typeof fetch {
  return async (...request) => {
    const response = await fetch(...request);
    const id = response.headers.get('x-request-id') ?? '';
    const whole = response.clone().text();
    if (response.ok) calls.push({ id, text: whole.catch(() => '') });
    return response;
  };
}

/** Checks that each answer has one ledger row and one line in Logs, with its dialect and the cost that it states. */
export async function expectExactBill(
  { url, key, mongoUrl }: TestStack,
  calls: readonly RecordedCall[],
  dialect: string,
): Promise<void> {
  const mongo = await new MongoClient(mongoUrl, { useBigInt64: true }).connect();
  try {
    for (const { id, text } of calls) {
      const answer = await text;
      const cost = Number([...answer.matchAll(/"cost":([\d.e-]+)/g)].at(-1)?.[1]);
      expect(cost, answer).toBeGreaterThan(0);
      const line = async () =>
        (await fetch(`${url}/v1/logs/${id}`, { headers: { authorization: `Bearer ${key}` } })).json();
      await expect.poll(line).toMatchObject({ status: 'ok', dialect, cost });
      const rows = await mongo
        .db()
        .collection('ledger')
        .find({ _id: { $in: [id, `${id}:void`] as never[] } })
        .toArray();
      expect(rows.map((row) => row.cost)).toEqual([BigInt(Math.round(cost * 1e9))]);
    }
  } finally {
    await mongo.close();
  }
}

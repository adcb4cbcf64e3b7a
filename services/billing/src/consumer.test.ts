import type { ConsumerInfo } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { acknowledgedUpTo } from './consumer.ts';

interface Reading {
  /** Stream sequences. */
  acked: number;
  delivered?: number;
  pending?: number;
  unacked?: number;
}

function reading({ acked, delivered = acked, pending = 0, unacked = 0 }: Reading): ConsumerInfo {
  const info = {
    ...{ ack_floor: { stream_seq: acked }, delivered: { stream_seq: delivered } },
    ...{ num_pending: pending, num_ack_pending: unacked },
  };
  return info as ConsumerInfo;
}

test('a consumer that does not count a new event yet has not acknowledged it', () => {
  const hasAll = acknowledgedUpTo(7);
  expect(hasAll(reading({ acked: 6 }))).toBe(false);
  expect(hasAll(reading({ acked: 6, pending: 1 }))).toBe(false);
  expect(hasAll(reading({ acked: 6, delivered: 7, unacked: 1 }))).toBe(false);
  expect(hasAll(reading({ acked: 7 }))).toBe(true);
});

test('a consumer that stays idle has nothing left: the events were removed', () => {
  const hasAll = acknowledgedUpTo(7);
  expect(hasAll(reading({ acked: 6 }))).toBe(false);
  expect(hasAll(reading({ acked: 6 }))).toBe(true);
});

test('acknowledgements that arrive out of order count once nothing is left', () => {
  expect(acknowledgedUpTo(7)(reading({ acked: 5, delivered: 7 }))).toBe(true);
});

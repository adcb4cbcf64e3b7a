// `Idempotency-Key`: the record of a first request and its answer, in the KV bucket `idempotency`.
import { z } from 'zod';
import { idOf } from './ids.ts';

export const IDEMPOTENCY_HEADER = 'Idempotency-Key';
/** On an answer that was given before. */
export const REPLAYED_HEADER = 'idempotent-replayed';
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
export const IDEMPOTENCY_HOURS = 24;
/** Bytes of the store that the kept answers of one org take at the most. */
export const IDEMPOTENCY_ORG_BYTES_MAX = 1024 * 1024 * 1024;
/** Bytes that a record counts for, beside its answer and the models. */
export const IDEMPOTENCY_RECORD_BYTES = 1024;

export const idempotencyKey = z
  .string()
  .regex(
    new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`),
    `is 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters without blanks`,
  );

const begun = {
  org: idOf('org'),
  /** The API key that asked: the answer is given to no other one. */
  key_id: idOf('key'),
  /** Of the first request. */
  request_id: z.string(),
  method: z.string(),
  /** SHA-256 of the path with its query, which may be long. */
  path_sha256: z.string(),
  started_at: z.iso.datetime(),
};

/** What a body was sealed with; what opens it comes from the Idempotency-Key itself. */
const seal = z.object({ iv: z.string(), tag: z.string() });

const keptAnswer = z.object({
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  /** Sealed: in base64, or as an object of the store `idempotency`. `bytes`: its length. */
  body: z.union([
    z.object({ kind: z.literal('inline'), base64: z.string(), bytes: z.int(), seal }),
    z.object({ kind: z.literal('object'), id: z.string(), bytes: z.int(), seal }),
  ]),
});
export type KeptAnswer = z.infer<typeof keptAnswer>;

/**
 * KV bucket `idempotency`, key `<org>.<sha-256 of the Idempotency-Key>`. Made by the edge that runs the request, by
 * compare-and-set; `running` for ever when that edge dies, and then the request's end is unknown.
 */
export const idempotencyRecord = z.discriminatedUnion('state', [
  z.object({ ...begun, state: z.literal('running') }),
  /** A stream, open or ended: its answer is not kept. */
  z.object({ ...begun, state: z.literal('streaming') }),
  z.object({
    ...begun,
    state: z.literal('answered'),
    /** Of the request's body. */
    digest: z.string(),
    /** Models that may have answered; none for a request of another kind. */
    models: z.array(z.string()),
    answer: keptAnswer,
  }),
]);
export type IdempotencyRecord = z.infer<typeof idempotencyRecord>;

/** KV bucket `idempotency-usage`, key: the org. What its kept answers take, by the hour since 1970 in which they began. */
export const idempotencyUsage = z.object({ bytes_by_hour: z.record(z.string(), z.int()) });
export type IdempotencyUsage = z.infer<typeof idempotencyUsage>;

// `Idempotency-Key`: the record of a first request and its answer, in the KV bucket `idempotency`.
import { z } from 'zod';
import { idOf } from './ids.ts';

export const IDEMPOTENCY_HEADER = 'Idempotency-Key';
/** On a replayed answer. */
export const REPLAYED_HEADER = 'idempotent-replayed';
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;
export const IDEMPOTENCY_HOURS = 24;
/** Maximum bytes that the kept answers of one org take in the store. */
export const IDEMPOTENCY_ORG_BYTES_MAX = 1024 * 1024 * 1024;
/** Bytes counted for a record, besides its answer and models. */
export const IDEMPOTENCY_RECORD_BYTES = 1024;

export const idempotencyKey = z
  .string()
  .regex(
    new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`),
    `must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters, no blanks`,
  );

const begun = {
  org: idOf('org'),
  /** The API key that asked: no other key gets the answer. */
  key_id: idOf('key'),
  /** Of the first request. */
  request_id: z.string(),
  method: z.string(),
  /** SHA-256 of the path with its query, which may be long. */
  path_sha256: z.string(),
  started_at: z.iso.datetime(),
};

/** Parameters of a body's encryption; its key derives from the Idempotency-Key. */
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
 * compare-and-set; it stays `running` if that edge dies: the outcome is then unknown.
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

/** KV bucket `idempotency-usage`, key: the org. Bytes of its kept answers, by the hour since 1970 of their start. */
export const idempotencyUsage = z.object({ bytes_by_hour: z.record(z.string(), z.int()) });
export type IdempotencyUsage = z.infer<typeof idempotencyUsage>;

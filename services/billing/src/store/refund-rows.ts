// Giving charges back: what is left of one, and the rows that give of it. Every row that takes back from a charge has an
// id made from that of the charge, so that the ledger finds them all by `_id`. Pure.
import { eventIds, REFUNDS_PER_CHARGE_MAX } from '@switchyard/contracts';
import type { LogRow, UnnumberedRow } from './documents.ts';
import type { Refund } from './entries.ts';

const REFUNDABLE: readonly UnnumberedRow['kind'][] = ['call', 'computer_minute', 'video'];
export const VIDEO_CHARGE_SUFFIX = ':charge';

export function isRefundable({ kind }: UnnumberedRow): boolean {
  return REFUNDABLE.includes(kind);
}

/** Ids of all rows that can take back from a charge: its void, what a video gives back, and refunds made by hand. */
export function takenBackBy(charge: string): string[] {
  const video = charge.endsWith(VIDEO_CHARGE_SUFFIX) ? charge.slice(0, -VIDEO_CHARGE_SUFFIX.length) : null;
  return [
    ...(video === null ? [eventIds.voided(charge)] : []),
    ...(video === null ? [] : [eventIds.videoRefund(video), eventIds.videoDifference(video)]),
    ...Array.from({ length: REFUNDS_PER_CHARGE_MAX }, (_, i) => eventIds.refund(charge, i + 1)),
  ];
}

/** Nano-dollars of a charge that nothing has taken back. */
export function leftOf(charge: UnnumberedRow, booked: ReadonlyMap<string, UnnumberedRow>): bigint {
  let left = charge.cost;
  for (const id of takenBackBy(charge._id)) left += booked.get(id)?.cost ?? 0n;
  return left;
}

/** The row of a refund, which has from its charge whom it concerns; or why there can be none. */
export function refundRow(
  { row, number }: Refund,
  charge: UnnumberedRow | undefined,
  booked: ReadonlyMap<string, UnnumberedRow>,
): UnnumberedRow | string {
  if (!charge || charge.org !== row.org || !isRefundable(charge))
    return `what it gives back is no charge of ${row.org}`;
  if (number > REFUNDS_PER_CHARGE_MAX) return `a charge has at most ${REFUNDS_PER_CHARGE_MAX} refunds`;
  if (number > 1 && !booked.has(eventIds.refund(charge._id, number - 1)))
    return 'the refund before it is missing';
  const left = leftOf(charge, booked);
  if (-row.cost > left) return `it gives back ${-row.cost} nano-dollars, and ${left} are left`;
  const { key, type, model, maker, computer, status } = charge;
  return { ...row, key, type, model, maker, computer, ...(status ? { status } : {}) };
}

/** Its line in Logs. */
export function refundLog({ charge, corrects }: Refund, row: UnnumberedRow): LogRow {
  const { _id, at, org, key, type, model, maker, computer, cost, quantities, refund } = row;
  return {
    ...{
      _id,
      source: 'charge.refunded',
      at,
      kind: 'refund',
      status: 'ok',
      http_status: null,
      error_code: null,
    },
    ...{ org, key, type, model, maker, computer, method: null, path: null, requested_model: null },
    models: model === null ? [] : [model],
    ...{ stream: false, cost, basis: null, quantities, latency_ms: null, first_byte_ms: null, attempts: [] },
    corrects,
    correction: { of: charge, reason: refund?.reason ?? '', reference: refund?.reference ?? null },
  };
}

// Refunds of charges: what is left of a charge, and the rows that reduce it. Every such row has an id derived from the
// id of the charge, so that the ledger finds them all by `_id`. Pure.
import { eventIds, LEDGER_KINDS, REFUNDS_PER_CHARGE_MAX } from '@switchyard/contracts';
import type { LogRow, UnnumberedRow } from './documents.ts';
import type { Refund } from './entries.ts';
import { dimensionsOf } from './new-rows.ts';

const VIDEO_CHARGE_SUFFIX = ':charge';

export function isRefundable({ kind }: UnnumberedRow): boolean {
  return LEDGER_KINDS[kind].refundable;
}

/** Ids of all rows that can reduce a charge: its void, the refund of a video, and manual refunds. */
export function takenBackBy(charge: string): string[] {
  const video = charge.endsWith(VIDEO_CHARGE_SUFFIX) ? charge.slice(0, -VIDEO_CHARGE_SUFFIX.length) : null;
  return [
    ...(video === null ? [eventIds.voided(charge)] : []),
    ...(video === null ? [] : [eventIds.videoRefund(video), eventIds.videoDifference(video)]),
    ...Array.from({ length: REFUNDS_PER_CHARGE_MAX }, (_, i) => eventIds.refund(charge, i + 1)),
  ];
}

/** Nano-dollars of a charge that no row has returned. */
export function leftOf(charge: UnnumberedRow, booked: ReadonlyMap<string, UnnumberedRow>): bigint {
  let left = charge.cost;
  for (const id of takenBackBy(charge._id)) left += booked.get(id)?.cost ?? 0n;
  return left;
}

/** The row of a refund, with the dimensions of its charge; or the reason why the refund is invalid. */
export function refundRow(
  { row, number }: Refund,
  charge: UnnumberedRow | undefined,
  booked: ReadonlyMap<string, UnnumberedRow>,
): UnnumberedRow | string {
  if (!charge || charge.org !== row.org || !isRefundable(charge)) return `it refunds no charge of ${row.org}`;
  if (number > REFUNDS_PER_CHARGE_MAX) return `a charge has at most ${REFUNDS_PER_CHARGE_MAX} refunds`;
  if (number > 1 && !booked.has(eventIds.refund(charge._id, number - 1)))
    return 'the refund before it is missing';
  const left = leftOf(charge, booked);
  if (-row.cost > left) return `it refunds ${-row.cost} nano-dollars, and ${left} are left`;
  return { ...row, ...dimensionsOf(charge), charged_at: charge.at };
}

/** The log row of a refund: the event's, with the dimensions of the charge. */
export function refundLog({ log }: Refund, row: UnnumberedRow): LogRow {
  const { status: _, ...dimensions } = dimensionsOf(row);
  return { ...log, ...dimensions, models: row.model === null ? [] : [row.model] };
}

// The metric of refused calls whose events were dropped.
import type { Registry } from 'prom-client';
import { showCounter } from './show-metric.ts';

/** @param events the event publisher of this process */
export function countDroppedRefusals(metrics: Registry, events: { readonly refusalsDropped: number }): void {
  const help = 'Refused calls without a log row: their keys had too many in that minute';
  showCounter(metrics, 'switchyard_refusals_dropped_total', help, () => events.refusalsDropped);
}

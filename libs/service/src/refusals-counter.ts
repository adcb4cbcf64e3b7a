// The metric of refused calls whose events were dropped.
import { Counter, type Registry } from 'prom-client';

/** @param events the event publisher of this process */
export function countDroppedRefusals(metrics: Registry, events: { readonly refusalsDropped: number }): void {
  new Counter({
    name: 'switchyard_refusals_dropped_total',
    help: 'Refused calls without a log row: their keys had too many in that minute',
    registers: [metrics],
    collect() {
      this.reset();
      this.inc(events.refusalsDropped);
    },
  });
}

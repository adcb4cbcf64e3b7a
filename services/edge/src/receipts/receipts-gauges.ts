// Metrics of receipts.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Receipts } from './receipts.ts';

export function receiptsGauges(metrics: Registry, receipts: Receipts): void {
  const counter = (name: string, help: string, value: () => number) =>
    new Counter({
      ...{ name, help, registers: [metrics] },
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  counter(
    'switchyard_edge_answers_total',
    'Answers of this edge that said what they cost',
    () => receipts.answers,
  );
  counter(
    'switchyard_edge_receipts_dropped_total',
    'Receipts that found no room while JetStream was away, in memory or on disk, and that billing does not look up',
    () => receipts.dropped,
  );
  new Gauge({
    ...{
      name: 'switchyard_edge_receipts_waiting',
      help: 'Receipts that wait for JetStream',
      registers: [metrics],
    },
    collect() {
      this.set(receipts.waiting);
    },
  });
}

// Metrics of receipts.
import { showCounter, showGauge } from '@switchyard/service';
import type { Registry } from 'prom-client';
import type { Receipts } from './receipts.ts';

export function receiptsGauges(metrics: Registry, receipts: Receipts): void {
  showCounter(
    metrics,
    'switchyard_edge_answers_total',
    'Answers of this edge that said what they cost',
    () => receipts.answers,
  );
  showCounter(
    metrics,
    'switchyard_edge_receipts_dropped_total',
    'Receipts that JetStream did not store in time, so billing does not look them up',
    () => receipts.dropped,
  );
  showGauge(
    metrics,
    'switchyard_edge_receipts_waiting',
    'Receipts that wait for JetStream',
    () => receipts.waiting,
  );
}

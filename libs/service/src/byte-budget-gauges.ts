// Metrics of a byte budget: held bytes and the number of waiting bodies.
import type { Registry } from 'prom-client';
import type { ByteBudget } from './byte-budget.ts';
import { showGauge } from './show-metric.ts';

export function watchByteBudget(metrics: Registry, budget: ByteBudget): void {
  const gauge = (name: string, help: string, value: () => number) => showGauge(metrics, name, help, value);
  gauge('switchyard_large_bodies_bytes', 'Bytes of large bodies in memory', () => budget.held);
  gauge('switchyard_large_bodies_bytes_max', 'Bytes that they may be at most', () => budget.bytesMax);
  gauge('switchyard_large_bodies_waiting', 'Large bodies that wait for their place', () => budget.waiting);
}

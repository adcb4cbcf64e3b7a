// The metrics of a process. Values are read when they are collected.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { ByteBudget } from './byte-budget.ts';

export function makeMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export function showGauge(metrics: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [metrics],
    collect() {
      this.set(value());
    },
  });
}

/** @param value a number that never falls while the process runs */
export function showCounter(metrics: Registry, name: string, help: string, value: () => number): void {
  new Counter({
    name,
    help,
    registers: [metrics],
    collect() {
      this.reset();
      this.inc(value());
    },
  });
}

/** Held bytes and the number of waiting bodies. */
export function watchByteBudget(metrics: Registry, budget: ByteBudget): void {
  const gauge = (name: string, help: string, value: () => number) => showGauge(metrics, name, help, value);
  gauge('switchyard_large_bodies_bytes', 'Bytes of large bodies in memory', () => budget.held);
  gauge('switchyard_large_bodies_bytes_max', 'Maximum of these bytes', () => budget.bytesMax);
  gauge('switchyard_large_bodies_waiting', 'Large bodies that wait for memory', () => budget.waiting);
}

/** @param events the event publisher of this process */
export function countDroppedRefusals(metrics: Registry, events: { readonly refusalsDropped: number }): void {
  const help = 'Refused calls without a log row: their keys had too many in that minute';
  showCounter(metrics, 'switchyard_refusals_dropped_total', help, () => events.refusalsDropped);
}

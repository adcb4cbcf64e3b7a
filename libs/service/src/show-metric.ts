// Metrics whose value is read when they are collected.
import { Counter, Gauge, type Registry } from 'prom-client';

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

// Metric for a host that takes no computers.
import { Gauge, type Registry } from 'prom-client';
import { type HostRefusal, REFUSAL_REASONS } from './computer/computer-host.ts';

/** One gauge per reason: 1 while the host takes no computers for it, otherwise 0. */
export function watchRefusal(metrics: Registry, refusal: () => HostRefusal | undefined): void {
  new Gauge({
    name: 'switchyard_host_refuses_computers',
    help: '1: this host takes no computers, for this reason',
    labelNames: ['reason'],
    registers: [metrics],
    collect() {
      const now = refusal()?.reason;
      for (const reason of REFUSAL_REASONS) this.set({ reason }, reason === now ? 1 : 0);
    },
  });
}

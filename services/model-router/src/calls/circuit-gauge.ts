// Prometheus metric for the state of upstreams that failed recently.
import { Gauge } from 'prom-client';
import { CIRCUIT_STATES, type Circuits } from './circuits.ts';

export const CIRCUIT_GAUGE = 'switchyard_upstream_circuit';

/** One series per upstream with an entry; the value is the index of its state in `CIRCUIT_STATES`. */
export function circuitGauge(circuits: Circuits): Gauge {
  return new Gauge({
    name: CIRCUIT_GAUGE,
    help: `State of an upstream: ${CIRCUIT_STATES.map((state, value) => `${value} ${state}`).join(', ')}`,
    labelNames: ['upstream'],
    registers: [],
    collect() {
      this.reset();
      for (const [upstream, state] of circuits.states())
        this.set({ upstream }, CIRCUIT_STATES.indexOf(state));
    },
  });
}

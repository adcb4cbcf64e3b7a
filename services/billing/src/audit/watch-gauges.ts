// Metrics of the books.
import { dollarsToJson } from '@switchyard/money';
import { Gauge, type Registry } from 'prom-client';
import type { BooksWatch } from './watch.ts';

const MS_PER_S = 1_000;

/** Gauges of the current watches, labelled by partition. A standby instance has no watch and exports none of them. */
export function booksGauges(metrics: Registry, watching: () => readonly BooksWatch[]): void {
  const gauge = (name: string, help: string, value: (watch: BooksWatch) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['partition'], registers: [metrics] },
      collect() {
        this.reset();
        for (const watch of watching())
          if (watch.state.checkedAt) this.set({ partition: watch.partition }, value(watch));
      },
    });
  gauge(
    'switchyard_billing_drift_dollars',
    'Dollars by which ledger, logs and usage of orgs differ; anything but 0 is an alarm',
    ({ drift }) => dollarsToJson(drift),
  );
  gauge(
    'switchyard_billing_drifts',
    'Wrong events, answers and ledger numbers in the last check',
    ({ state }) => state.wrong,
  );
  gauge(
    'switchyard_billing_answers_compared',
    'Answers with a cost that were looked up in the ledger',
    ({ answers }) => answers.compared,
  );
  gauge(
    'switchyard_billing_answers_waiting',
    'Answers with a cost that wait to be looked up',
    ({ answers }) => answers.waiting,
  );
  gauge(
    'switchyard_billing_answers_passed_over',
    'Answers with a cost that were skipped: too many at once',
    ({ answers }) => answers.passedOver,
  );
  gauge(
    'switchyard_billing_events_waiting',
    'Events in the stream that are not booked yet',
    ({ state }) => state.eventsWaiting,
  );
  gauge('switchyard_billing_ledger_rows', 'The last number of the ledger', ({ state }) => Number(state.last));
  gauge(
    'switchyard_billing_checked_at_seconds',
    'When the books were last checked, in seconds since 1970',
    ({ state }) => (state.checkedAt?.getTime() ?? 0) / MS_PER_S,
  );
}

// Publishes the stored alerts. An alert is marked when the stream has it, so a kill in between publishes the same event
// again: JetStream recognises its id for two minutes, and after that the stream itself is searched.
import { type Bus, openEventReader, publishEvent } from '@switchyard/bus';
import { EVENTS_STREAM, type Event, eventSubject } from '@switchyard/contracts';
import { type Repeating, repeat } from '@switchyard/service';
import type { PartitionDeps } from '../partition-deps.ts';
import { answered } from '../store/answered.ts';
import type { BudgetAlert } from '../store/documents.ts';

/** Time between two looks for stored alerts. */
const LOOK_MS = 1_000;
const AT_ONCE_MAX = 1_000;
/** An older alert may have been published before JetStream's duplicate window. Clocks may differ by as much again. */
const YOUNG_MS = 60_000;
/** Alerts of one org that are searched in the stream. Beyond that the event is published, with the id of the first. */
const SEARCHED_MAX = 10_000;

type PublishAlertsDeps = Pick<PartitionDeps, 'bus' | 'store' | 'partition' | 'clock' | 'logger' | 'signal'>;

/** Publishes until it is stopped; the signal also ends a round early. Failures are retried without limit. */
export function publishAlerts(deps: PublishAlertsDeps): Repeating {
  const { clock, logger } = deps;
  const failed = 'budget alerts could not be published; retrying';
  return repeat({ everyMs: LOOK_MS, clock, logger, failed }, () => publishStored(deps));
}

async function publishStored(deps: PublishAlertsDeps): Promise<void> {
  const { store, partition, signal } = deps;
  const stored = store.alerts.find({ published_at: null }).limit(AT_ONCE_MAX);
  for (const alert of await answered(stored.toArray())) {
    if (signal.aborted) return;
    if (partition.hasOrg(alert.org)) await publish(alert, deps);
  }
}

async function publish({ _id, event }: BudgetAlert, deps: PublishAlertsDeps): Promise<void> {
  const { bus, store, clock } = deps;
  const isYoung = clock.now() - Date.parse(event.time) < YOUNG_MS;
  if (isYoung || !(await isInStream(bus, event))) await publishEvent(bus, event);
  await answered(store.alerts.updateOne({ _id }, { $set: { published_at: new Date(clock.now()) } }));
}

async function isInStream(bus: Bus, event: Event): Promise<boolean> {
  const subjects = [eventSubject(event)];
  const reader = await openEventReader(bus, { stream: EVENTS_STREAM, subjects, after: 0 });
  try {
    let left = Math.min(reader.pending, SEARCHED_MAX);
    if (left === 0) return false;
    for await (const message of reader.messages) {
      if (message.event()?.id === event.id) return true;
      left -= 1;
      if (left === 0) return false;
    }
  } finally {
    reader.stop();
  }
  throw new Error('the stream of events could not be read to its end');
}

// Admits the events of computer hosts to the stream of events. Each is checked against the placement of its computer, so
// that a host can state facts only about computers that control placed there, at the prices that control set.
import { type Bus, type Delivery, type EventPublisher, Feed, readEvent, type Verdict } from '@switchyard/bus';
import {
  type ComputerPlacement,
  type Event,
  type EventData,
  type EventName,
  eventIds,
  eventSubjectOfHost,
  HOST_EVENTS_STREAM,
  HOST_EVENTS_SUBJECTS,
  makeEvent,
  minuteEvent,
  minuteLines,
  type NewEvent,
  publishingHost,
} from '@switchyard/contracts';
import { charge } from '@switchyard/money';
import type { Logger } from '@switchyard/service';
import { countMinute, type MinuteCountDeps } from './minute-count.ts';
import type { PlacedRecords } from './placed-records.ts';

interface HostEventsOptions extends MinuteCountDeps {
  readonly bus: Bus;
  readonly records: Pick<PlacedRecords, 'placement' | 'placements'>;
  readonly events: Pick<EventPublisher, 'publish'>;
  readonly logger: Logger;
}

/** One at a time: the events of a computer keep their order. */
const ADMISSIONS_MAX = 1;

/** Any number of instances may run it. An event that is delivered twice has the same id twice. */
export function admitHostEvents(options: HostEventsOptions): Feed {
  const { bus, clock, logger } = options;
  return new Feed({
    bus,
    stream: HOST_EVENTS_STREAM,
    name: 'admission',
    description: 'admits the events of computer hosts to the stream of events',
    subjects: [HOST_EVENTS_SUBJECTS],
    attemptsMax: ADMISSIONS_MAX,
    read: readEvent,
    attempt: (delivery) => admit(options, delivery),
    clock,
    logger,
  });
}

async function admit(options: HostEventsOptions, delivery: Delivery): Promise<Verdict> {
  const { records, events, clock, logger } = options;
  const { event } = delivery;
  const placement = await placementOf(records, event);
  const admitted = placement && admittedEvent(delivery, placement, clock.now());
  const refuse = (why: string) =>
    logger.warn(
      { host: publishingHost(delivery.subject), event: event.id, type: event.type },
      `an event of a host is refused: ${why}`,
    );
  if (!admitted) refuse('control did not place this computer there');
  else if (
    admitted.type === 'computer.metered' &&
    !(await countMinute(options, placement, minuteIn(admitted), delivery.time))
  )
    refuse('more minutes than can have passed');
  else await events.publish(admitted);
  return 'settled';
}

/** Null as well for names that no placement can have. */
function placementOf(
  records: HostEventsOptions['records'],
  { data }: Event,
): Promise<ComputerPlacement | null> | null {
  if (!('computer_id' in data) || typeof data.computer_id !== 'string') return null;
  return records.placement(data.org, data.computer_id);
}

function minuteIn({ data }: Event): EventData<'computer.metered'> {
  return data as EventData<'computer.metered'>;
}

/**
 * The event with the placement's facts in place of the host's; null: the host may not state it.
 * Its time lies between the creation of the computer and now.
 */
function admittedEvent(
  { event, subject }: Pick<Delivery, 'event' | 'subject'>,
  placement: ComputerPlacement,
  nowMs: number,
): Event | null {
  const { id, org, key_id, host, metadata } = placement;
  if (subject !== eventSubjectOfHost(host)) return null;
  const saidMs = Math.min(Date.parse(event.time), nowMs);
  const time = new Date(Math.max(saidMs, Date.parse(placement.created_at)));
  const source = '/switchyard/computer-agent';
  switch (event.type) {
    case 'computer.metered': {
      const { run, minute } = minuteIn(event);
      if (event.id !== eventIds.minute(id, run, minute)) return null;
      const costNano = charge(minuteLines(placement));
      return minuteEvent({ record: placement, run: { number: run }, minute, costNano, source, time });
    }
    case 'computer.created':
    case 'computer.started':
    case 'computer.stopped':
    case 'computer.deleted': {
      if (!isIdOfChange(event, id)) return null;
      const facts = { computer_id: id, org, key_id, host, tags: metadata };
      return makeEvent({
        name: event.type,
        id: event.id,
        source,
        time,
        data: { ...event.data, ...facts },
      } as NewEvent<EventName>);
    }
    default:
      return null;
  }
}

/** The deletion does not state its run. */
function isIdOfChange({ id, type, data }: Event, computer: string): boolean {
  const change = type.slice('computer.'.length);
  const run = 'run' in data ? Number(data.run) : Number(id.split(':')[1]);
  return Number.isSafeInteger(run) && id === eventIds.computer(computer, run, change);
}

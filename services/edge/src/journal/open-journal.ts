// The journal of this edge, and the voids for the journals of edges that were killed.
import { ADOPT_MS, type Bus, type EventPublisher, type OwnFile } from '@switchyard/bus';
import { type Event, type EventData, eventIds, makeEvent } from '@switchyard/contracts';
import type { Clock, Logger } from '@switchyard/service';
import { EVENT_SOURCE } from '../http/answer-error.ts';
import { adoptJournals, DeliveryJournal, readOpenCalls } from './delivery-journal.ts';

interface JournalDeps {
  readonly bus: Bus;
  readonly folder: string;
  readonly events: EventPublisher;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Resolves when the calls of edges that died before now are voided. */
export async function openJournal(deps: JournalDeps): Promise<{ journal: DeliveryJournal; close(): void }> {
  const journal = new DeliveryJournal(deps.folder, deps.logger);
  deps.bus.publisher.onBeforeFlush(() => journal.flush());
  await voidOrphans(deps);
  const voiding = setInterval(() => {
    voidOrphans(deps).catch((error: unknown) =>
      deps.logger.error({ err: error }, 'calls of edges that died could not be voided yet'),
    );
  }, ADOPT_MS);
  return {
    journal,
    close() {
      clearInterval(voiding);
      journal.close();
    },
  };
}

/** Voids the open calls in journals of killed edges: their callers never got the answers. */
async function voidOrphans(deps: JournalDeps): Promise<void> {
  for (const file of adoptJournals(deps.folder)) {
    try {
      await voidCalls(file, deps);
    } catch (error) {
      file.release(); // for the next round or another edge
      throw error;
    }
    file.remove(); // the voids are durable
  }
}

async function voidCalls(file: OwnFile, { events, clock, logger }: JournalDeps): Promise<void> {
  const calls = readOpenCalls(file);
  const voids = calls.map(({ requestId, org }) => voidOf(requestId, org, 'edge_lost', clock));
  await Promise.all(voids.map((event) => events.publish(event)));
  if (calls.length > 0) logger.warn({ calls: calls.length }, 'calls of an edge that died were voided');
}

/** The event that takes back every charge for a call, made or still to come. */
export function voidOf(
  requestId: string,
  org: string,
  reason: EventData<'call.voided'>['reason'],
  clock: Clock,
): Event<'call.voided'> {
  return makeEvent({
    name: 'call.voided',
    id: eventIds.voided(requestId),
    source: EVENT_SOURCE,
    time: new Date(clock.now()),
    data: { request_id: requestId, org, reason },
  });
}

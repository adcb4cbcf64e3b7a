import type { Bus } from '@switchyard/bus';
import type { Event } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { temporaryFolder } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { DeliveryJournal } from './delivery-journal.ts';
import { openJournal } from './open-journal.ts';

const logger = makeLogger('test', 'silent');

test('journals of dead edges whose calls could not be voided are taken up again', async () => {
  const folder = await temporaryFolder('journals');
  const dead = [new DeliveryJournal(folder, logger), new DeliveryJournal(folder, logger)];
  for (const [at, journal] of dead.entries()) journal.taken(`req_${at}`, 'org_x');
  for (const journal of dead) journal.close();

  const voided: string[] = [];
  let isFull = true;
  const publish = async (event: Event) => {
    if (isFull) throw new Error('the outbox is full');
    voided.push((event as Event<'call.voided'>).data.request_id);
  };
  const deps = {
    bus: { publisher: { onBeforeFlush() {} } } as unknown as Bus,
    events: { publish, refusalsDropped: 0, waiting: 0, close: async () => {} },
    ...{ folder, clock: systemClock, logger },
  };
  await expect(openJournal(deps)).rejects.toThrow('the outbox is full');
  isFull = false;
  const { close } = await openJournal(deps);
  close();
  expect(voided.toSorted()).toEqual(['req_0', 'req_1']);
});

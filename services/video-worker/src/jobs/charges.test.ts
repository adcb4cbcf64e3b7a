// Charges of videos, read through a durable consumer that is deleted during the test.
import { EVENTS_STREAM } from '@switchyard/contracts';
import { makeLogger, systemClock } from '@switchyard/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../fixtures/installation.ts';
import { Mortal } from '../fixtures/mortal.ts';
import { TestMaker } from '../fixtures/test-maker.ts';
import { CHARGES_CONSUMER, followCharges } from './charges.ts';
import { ensureRecord } from './new-record.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation?.stop());

test('a deleted consumer is created again and rereads every charge without starting a job twice', async () => {
  const makers = { first: new TestMaker() };
  const deps = installation.depsOf(makers, new Mortal(null));
  const taken: string[] = [];
  const charges = followCharges({
    ...{ bus: installation.bus, clock: systemClock, logger: makeLogger('video-worker', 'silent') },
    take: async (event) => {
      await ensureRecord(deps, event);
      taken.push(event.data.video_id);
    },
  });
  try {
    const event = await installation.charge({ 'acme/first': 5 });
    const { video_id: id } = event.data;
    await installation.events.publish(event);
    await expect.poll(() => taken).toEqual([id]);
    await installation.work(deps, event);
    const published = await installation.publishedEvents(id);

    await installation.bus.jsm.consumers.delete(EVENTS_STREAM, CHARGES_CONSUMER);
    await expect.poll(() => taken).toEqual([id, id]);
    await installation.work(deps, event);
    expect(makers.first.starts.length).toBe(1);
    expect(await installation.publishedEvents(id)).toEqual(published);
    expect(await installation.read(event)).toMatchObject({ state: 'completed', refunded_nano: '0' });
  } finally {
    await charges.stop();
  }
});

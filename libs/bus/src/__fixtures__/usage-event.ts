import { type Event, makeEvent } from '@switchyard/contracts';

/** An event as services publish it; its data does not matter. */
export const usageEvent = (id: string): Event =>
  makeEvent({
    name: 'call.voided',
    id,
    source: '/test',
    time: new Date('2026-11-21T00:00:00Z'),
    data: { request_id: id, org: 'org_x', reason: 'answer_lost' },
  });

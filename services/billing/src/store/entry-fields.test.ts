import { defineBookedEvent, defineEvent, EVENTS, makeEvent } from '@switchyard/contracts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { completed, metered, TIME, videoCharged, videoRefunded, voided } from '../fixtures/events.ts';
import { ENTRY_FIELDS } from './entry-fields.ts';
import { entryOf } from './entry-of.ts';

describe('an event', () => {
  test('that billing ignores has no entry', () => {
    const data = { key_id: 'key_1', org: 'org_a', by_key_id: null };
    const event = makeEvent({ name: 'key.created', id: 'key_1:created', source: 's', time: TIME, data });
    expect(entryOf(event)).toBeNull();
  });

  test.each([
    ['a call under another id', { ...completed('req_1', 1n), id: 'req_2' }],
    ['a void under another id', { ...voided('req_1'), id: 'req_1' }],
    ['a minute under another id', { ...metered('cmp_1', 3, 1n), id: 'cmp_1:1:4' }],
    ['a charge below zero', completed('req_1', -1n)],
    ['a video under another id', { ...videoCharged('vid_1', 1n), id: 'vid_1' }],
    ['a refund under the id of a difference', { ...videoRefunded('vid_1', 1n), id: 'vid_1:difference' }],
    ['a refund below zero', videoRefunded('vid_1', -1n)],
    ['a quantity below zero', completed('req_1', 1n, { quantities: { input_tokens: -1 } })],
  ])('that contradicts itself is refused: %s', (_, event) => {
    expect(() => entryOf(event)).toThrow(RangeError);
  });

  test('of a call that fell back is found under the model that served and the requested model', () => {
    const entry = entryOf(completed('req_1', 1n, { requested_model: 'acme/a', model: 'acme/b' }));
    expect(entry).toMatchObject({ what: 'occurrence', log: { models: ['acme/a', 'acme/b'] } });
  });
});

test('a refund that `takenBackBy` lacks is refused: what it returns could be refunded again', () => {
  const fields = vi.spyOn(ENTRY_FIELDS, 'video.refunded');
  onTestFinished(() => fields.mockRestore());
  fields.mockReturnValue({ row: { refunds: 'vid_2:charge' } });
  expect(() => entryOf(videoRefunded('vid_1', 1n))).toThrow('takenBackBy lacks vid_1:refund');
});

test('an event that states an amount and is not booked, or a booked one without its fields, does not compile', () => {
  const { 'video.charged': charged, 'org.created': created } = EVENTS;
  const { booked, ...unbooked } = charged;
  // @ts-expect-error an event that states a cost is booked
  defineEvent(unbooked);
  // @ts-expect-error an event that states a cost has a ledger row
  defineBookedEvent({ ...charged, booked: { ...booked, kind: null } });
  defineBookedEvent({ ...EVENTS['call.refused'] });
  defineEvent({ ...created });
  const { 'video.charged': fields, ...forgotten } = ENTRY_FIELDS;
  // @ts-expect-error the fields of an event are missing
  forgotten satisfies typeof ENTRY_FIELDS;
  expect(fields).toBeTypeOf('function');
});

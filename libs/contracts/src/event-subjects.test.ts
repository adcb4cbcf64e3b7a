import { expect, test } from 'vitest';
import { eventSubjects } from './event-subjects.ts';

test.each([
  [['*', 'computer.*'], ['event.v1.*.*.org_x']],
  [
    ['computer.stopped', 'computer.*', 'key.created', 'key.created'],
    ['event.v1.computer.*.org_x', 'event.v1.key.created.org_x'],
  ],
  [
    ['video.failed', 'video.completed'],
    ['event.v1.video.completed.org_x', 'event.v1.video.failed.org_x'],
  ],
])('%j becomes subjects that do not overlap', (patterns, subjects) => {
  expect(eventSubjects('org_x', patterns)).toEqual(subjects);
});

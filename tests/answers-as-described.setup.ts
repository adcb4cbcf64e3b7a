// Every answer that a test of the whole gets through `fetch`, from whichever client, must be as the OpenAPI document of
// the edge that gave it says. A client that repeats or swallows an answer hides nothing: the test itself fails.
import { watchAnswers } from '@switchyard/testing/openapi';
import { afterAll, afterEach, expect } from 'vitest';

const unwatched = globalThis.fetch;
const watch = watchAnswers(unwatched);
globalThis.fetch = watch.fetch;

const expectNoFaults = async () => expect(await watch.faults(), 'against the OpenAPI document').toEqual([]);
afterEach(expectNoFaults);
afterAll(async () => {
  globalThis.fetch = unwatched; // the next file of this worker begins with it
  await expectNoFaults();
});

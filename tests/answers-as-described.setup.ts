// Checks every answer that a full-stack test gets through `fetch`, by any client, against the OpenAPI document of the
// edge that sent it. The test fails even if its client retries or swallows the answer.
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

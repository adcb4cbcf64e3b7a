// Which minutes of a run are held ahead; the test controls billing's answers.
import { MINUTES_AHEAD } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { defaultLimits, newTestRecord } from '../test-agent.ts';
import { RunHolds, type RunHoldsDeps } from './run-holds.ts';

/** More than any work takes between an answer and its effect. */
const TURNS = 20;

/** A keeper that grants requests when the test says so. */
function heldBack() {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const keeper = {
    open: ({ call }: { readonly call: string }) => ({
      granted: 1n,
      take: () =>
        new Promise<void>((resolve) => {
          asked.push(call);
          waiting.push(resolve);
        }),
      settle: () => {},
    }),
  } as unknown as RunHoldsDeps['keeper'];
  return {
    asked,
    keeper,
    grant: () => {
      for (const granted of waiting.splice(0)) granted();
    },
  };
}

/** Waits for this many microtask turns. */
async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await undefined;
}

test.each(Array.from({ length: TURNS }, (_, turns) => turns))(
  'a minute that ends %i turns after the previous answer also extends the holds',
  async (turns) => {
    const record = newTestRecord('host_test', defaultLimits());
    const { asked, keeper, grant } = heldBack();
    const logger = makeLogger('test', 'silent');
    const holds = new RunHolds({ keeper, record, run: 1, clock: new FakeClock(), logger });
    await holds.begin(false);
    holds.keepAhead(1, () => {});
    const first = `${record.id}:1:${MINUTES_AHEAD}`;
    expect(asked).toEqual([first]);
    grant();
    await pass(turns);
    holds.keepAhead(2, () => {});
    await pass(TURNS);
    expect(asked).toEqual([first, `${record.id}:1:${MINUTES_AHEAD + 1}`]);
    holds.leave();
  },
);

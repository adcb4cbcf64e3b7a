// Which minutes of a run are asked for ahead of it, with billing's answers in the test's hands.
import { MINUTES_AHEAD } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import { FakeClock } from '@switchyard/testing';
import { expect, test } from 'vitest';
import { defaultLimits, newTestRecord } from '../test-agent.ts';
import { RunHolds, type RunHoldsDeps } from './run-holds.ts';

/** More than any work takes between an answer and what comes of it. */
const TURNS = 20;

/** A keeper that grants what it is asked for when the test says so. */
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

/** So many turns of promises: none of them waits for anything. */
async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await undefined;
}

test.each(Array.from({ length: TURNS }, (_, turns) => turns))(
  'a minute that ends %i turns after the answer for the one before is held ahead of, too',
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

// What happens to a host: its agent is killed, containers are removed behind its back.
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '@switchyard/testing';
import Docker from 'dockerode';
import type { Random } from './random.ts';

export interface FaultsOptions {
  readonly stack: TestStack;
  /** Of computers. */
  readonly ids: readonly string[];
  /** The container that a computer runs in at the moment, or null. */
  readonly containerOf: (id: string) => Promise<string | null>;
  readonly random: Random;
  /** `performance.now()` after which no agent is killed, and no container removed. */
  readonly killsUntil: number;
  readonly until: number;
}

/** By `performance.now()`: from the kill of an agent until the next one serves. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export interface FaultsDone {
  readonly outages: readonly Outage[];
  readonly removals: number;
}

const REMOVAL_PAUSE_MS = { least: 2_000, most: 8_000 };
/** Callers wait for a killed agent: more often, and the kills themselves would be what is measured. */
const KILL_PAUSE_MS = { least: 20_000, most: 40_000 };
/** So that a short storm has its kill too. */
const FIRST_KILL_MS = 3_000;

export async function makeFaults(options: FaultsOptions): Promise<FaultsDone> {
  const [removals, outages] = await Promise.all([removeContainers(options), killAgents(options)]);
  return { removals, outages };
}

/** 0 without an outage. */
export function longestMs(outages: readonly Outage[]): number {
  return Math.max(0, ...outages.map(({ from, to }) => to - from));
}

async function removeContainers({ ids, containerOf, random, until }: FaultsOptions): Promise<number> {
  const engine = new Docker();
  let removals = 0;
  while (await paused(random, REMOVAL_PAUSE_MS, until)) {
    const container = await containerOf(random.oneOf(ids));
    if (container === null) continue;
    // It may be gone for another reason by now, which does as well.
    const removed = await engine
      .getContainer(container)
      .remove({ force: true, v: true })
      .then(
        () => true,
        () => false,
      );
    if (removed) removals += 1;
  }
  return removals;
}

async function killAgents({ stack, random, killsUntil }: FaultsOptions): Promise<Outage[]> {
  const outages: Outage[] = [];
  let goesOn = await pausedFor(FIRST_KILL_MS, killsUntil);
  while (goesOn) {
    const from = performance.now();
    const { back } = await stack.kill9('computer-agent');
    await back;
    outages.push({ from, to: performance.now() });
    goesOn = await paused(random, KILL_PAUSE_MS, killsUntil);
  }
  return outages;
}

function paused(random: Random, { least, most }: { least: number; most: number }, until: number) {
  return pausedFor(random.between(least, most), until);
}

/** Whether there was time for it. */
async function pausedFor(ms: number, until: number): Promise<boolean> {
  if (performance.now() + ms >= until) return false;
  await delay(ms);
  return true;
}

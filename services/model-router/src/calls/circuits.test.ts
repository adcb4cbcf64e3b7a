import { upstream } from '@switchyard/contracts';
import { FakeClock } from '@switchyard/testing';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Failure } from '../makers/failure.ts';
import { CIRCUIT_GAUGE, circuitGauge } from './circuit-gauge.ts';
import {
  Circuits,
  FAILURE_WINDOW_MS,
  FAILURES_TO_OPEN,
  isSkip,
  nameOf,
  OPEN_MS,
  type Pass,
  RETRY_AFTER_MS_MAX,
} from './circuits.ts';

const SHAKY = upstream.parse({
  adapter: 'openai-compatible',
  base_url: 'http://127.0.0.1:1/v1',
  model: 'shaky',
});
const FAULT: Failure = { status: 500, message: 'it broke', kind: 'fault', retryAfterS: null };
const busyFor = (retryAfterS: number): Failure => ({
  status: 429,
  message: 'busy',
  kind: 'rate_limited',
  retryAfterS,
});

function setup(): { clock: FakeClock; circuits: Circuits; pass: () => Pass; fail: (times: number) => void } {
  const clock = new FakeClock();
  const circuits = new Circuits(clock);
  const pass = () => {
    const entry = circuits.enter(SHAKY);
    if (isSkip(entry)) throw new Error(`skipped: ${entry.why}`);
    return entry;
  };
  const fail = (times: number) => {
    for (let count = 0; count < times; count += 1) pass().failed(FAULT);
  };
  return { clock, circuits, pass, fail };
}

test('an upstream with repeated failures is skipped, then tried by one call, and is healthy after an answer', () => {
  const { clock, circuits, pass, fail } = setup();
  fail(FAILURES_TO_OPEN);
  expect(circuits.enter(SHAKY)).toEqual({
    state: 'open',
    backInMs: OPEN_MS,
    why: 'its circuit is open: it broke',
  });
  clock.advance(OPEN_MS - 1);
  expect(circuits.enter(SHAKY)).toMatchObject({ state: 'open', backInMs: 1 });
  clock.advance(1);
  const probe = pass();
  expect(circuits.enter(SHAKY)).toMatchObject({ state: 'half_open', backInMs: 0 });
  probe.answered();
  expect(circuits.states().size).toBe(0);
  pass();
});

test('a failed trial call keeps the circuit open for another period', () => {
  const { clock, circuits, pass, fail } = setup();
  fail(FAILURES_TO_OPEN);
  clock.advance(OPEN_MS);
  pass().failed(FAULT);
  expect(circuits.enter(SHAKY)).toMatchObject({ state: 'open', backInMs: OPEN_MS });
});

test('a trial call whose caller leaves hands the trial to the next call', () => {
  const { clock, circuits, pass, fail } = setup();
  fail(FAILURES_TO_OPEN);
  clock.advance(OPEN_MS);
  pass().abandoned();
  expect(isSkip(circuits.enter(SHAKY))).toBe(false);
});

test('failures with a success between them, or further apart than the window, do not open the circuit', () => {
  const { clock, circuits, pass, fail } = setup();
  fail(FAILURES_TO_OPEN - 1);
  pass().answered();
  fail(FAILURES_TO_OPEN - 1);
  clock.advance(FAILURE_WINDOW_MS);
  fail(FAILURES_TO_OPEN - 1);
  expect(circuits.states()).toEqual(new Map([[nameOf(SHAKY), 'closed']]));
});

test.each(['rejected', 'too_long'] as const)(
  'a request that is %s never counts against its upstream',
  (kind) => {
    const { circuits, pass, fail } = setup();
    fail(FAILURES_TO_OPEN - 1);
    pass().failed({ ...FAULT, kind });
    fail(FAILURES_TO_OPEN - 1);
    expect(isSkip(circuits.enter(SHAKY))).toBe(false);
  },
);

test('an upstream with Retry-After rests until that time, at most 30 s, and keeps the original time', () => {
  const { clock, circuits, pass } = setup();
  pass().failed(busyFor(2));
  expect(circuits.enter(SHAKY)).toMatchObject({ state: 'resting', backInMs: 2_000 });
  clock.advance(2_000);
  pass().failed(busyFor(3_600));
  expect(circuits.enter(SHAKY)).toMatchObject({ state: 'resting', backInMs: RETRY_AFTER_MS_MAX });
  expect(circuits.retryAfterLeftMs(SHAKY)).toBe(3_600_000);
  clock.advance(RETRY_AFTER_MS_MAX);
  pass();
});

test('an answer to an earlier call does not end a rest', () => {
  const { circuits, pass } = setup();
  const early = pass();
  pass().failed(busyFor(5));
  early.answered();
  expect(circuits.enter(SHAKY)).toMatchObject({ state: 'resting' });
});

test('each model at each address has its own circuit', () => {
  const { circuits, fail } = setup();
  fail(FAILURES_TO_OPEN);
  expect(isSkip(circuits.enter({ ...SHAKY, model: 'steady' }))).toBe(false);
  expect(isSkip(circuits.enter({ ...SHAKY, base_url: 'http://127.0.0.1:2/v1' }))).toBe(false);
});

test('a rate-limited key does not affect another key at the same address', () => {
  const { circuits, pass } = setup();
  pass().failed(busyFor(5));
  const other = { ...SHAKY, api_key_env: 'ANOTHER_KEY' };
  expect(isSkip(circuits.enter(other))).toBe(false);
  expect(circuits.retryAfterLeftMs(other)).toBeNull();
});

test('the metrics show each unhealthy upstream, and drop it when it recovers', async () => {
  const { clock, circuits, pass, fail } = setup();
  const registry = new Registry();
  registry.registerMetric(circuitGauge(circuits));
  const line = `${CIRCUIT_GAUGE}{upstream="${nameOf(SHAKY)}"}`;
  expect(await registry.metrics()).not.toContain(line);
  fail(FAILURES_TO_OPEN);
  expect(await registry.metrics()).toContain(`${line} 3`);
  clock.advance(OPEN_MS);
  expect(await registry.metrics()).toContain(`${line} 2`);
  pass().answered();
  expect(await registry.metrics()).not.toContain(line);
});

test('an unsupported field does not count against an upstream, since nothing was sent to it', () => {
  const { clock, circuits, pass, fail } = setup();
  const unsupported: Failure = { status: 400, message: 'seed', kind: 'unsupported', retryAfterS: null };
  for (let count = 0; count < FAILURES_TO_OPEN; count += 1) pass().failed(unsupported);
  expect(circuits.states().size).toBe(0);
  fail(FAILURES_TO_OPEN);
  clock.advance(OPEN_MS);
  pass().failed(unsupported); // this was the trial call
  expect(isSkip(circuits.enter(SHAKY))).toBe(false);
});

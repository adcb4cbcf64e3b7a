// Control as two processes, of which one is killed with SIGKILL again and again while keys are made, changed and revoked:
// every write that happened has its event, once, and no event tells of a write that did not happen.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Bus, connectBus, ensureEventsStream, openBucket, request } from '@switchyard/bus';
import { DEFAULT_ORG, type Event, type KeyRecord } from '@switchyard/contracts';
import { makeLogger } from '@switchyard/service';
import {
  type EventLog,
  openEventLog,
  startNats,
  type TestServer,
  temporaryFolder,
} from '@switchyard/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { firstKeyId } from '../keys/first-key.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
const FIRST = 'sy_the_first_key_of_all';
const caller = { org: DEFAULT_ORG, key_id: firstKeyId(FIRST) };
const KILLS = 6;
const KEYS = 12;
const CHANGES_BEFORE_KILL = 40;
/** Includes the time until the messages that a dead instance had taken are delivered again. */
const RECOVERY_MS_MAX = 60_000;

let nats: TestServer;
let bus: Bus;
let events: EventLog;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  nats = await startNats();
  bus = await connectBus({ url: nats.url, service: 'test', logger: makeLogger('test', 'silent') });
  await ensureEventsStream(bus);
  events = await openEventLog(bus);
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await events?.stop();
  await bus?.close();
  await nats?.stop();
});

async function startControl(): Promise<ChildProcess> {
  const child = fork(MAIN, {
    env: {
      ...process.env,
      ...{ NATS_URL: nats.url, SWITCHYARD_KEY: FIRST, SWITCHYARD_COMPUTERS: 'off' },
      SWITCHYARD_DATA: await temporaryFolder('control'), // nothing is left in an outbox on disk
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
    },
    execArgv: [],
  });
  running.add(child);
  await once(child, 'message');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  running.delete(child);
}

interface Changing {
  readonly name: string;
  /** Whether a key is left alone after a call that failed: then no later write tells of the one before. */
  readonly leaves: boolean;
  readonly until: AbortSignal;
  readonly changed: () => void;
}

/** Makes keys, changes the name of each five times, and revokes every other one. Calls of a killed control fail. */
async function changeKeys({ name, leaves, until, changed }: Changing): Promise<void> {
  const succeeds = (call: Promise<unknown>) =>
    call.then(
      () => {
        changed();
        return true;
      },
      () => !leaves,
    );
  for (let round = 0; !until.aborted; round += 1) {
    const body = { name: `${name}-${round}-0`, permissions: ['usage:read' as const] };
    const key = await request(bus, 'keys.create', { ...caller, body }).catch(() => null);
    let goesOn = key !== null;
    const asked = { ...caller, id: key?.id ?? '' };
    for (let n = 1; n <= 5 && goesOn; n += 1)
      goesOn = await succeeds(
        request(bus, 'keys.update', { ...asked, body: { name: `${name}-${round}-${n}` } }),
      );
    if (goesOn && round % 2 === 0) await succeeds(request(bus, 'keys.delete', asked));
  }
}

type KeyEvent = Event<'key.created' | 'key.updated' | 'key.revoked'>;

/** A key's names in the order of its events. @throws if one does not begin where the last ended */
function nameAfter(all: readonly KeyEvent[]): string | null {
  const steps = all.map(({ data }) => data.changes?.name as { from: string | null; to: string | null });
  const next = new Map(steps.map(({ from, to }) => [from, to]));
  let name = next.get(null) ?? null;
  expect(name, 'no key.created').not.toBeNull();
  for (let count = 1; count < steps.length; count += 1) {
    const to = next.get(name);
    if (to === undefined) throw new Error(`no event leads on from ${name}: ${JSON.stringify(steps)}`);
    name = to;
  }
  return name;
}

test('kills of control lose, invent and double no event of a change', async () => {
  const keys = await openBucket(bus, 'keys');
  const [other] = [await startControl()];
  let control = await startControl();
  const stopping = new AbortController();
  let changes = 0;
  const changed = () => {
    changes += 1;
  };
  const changing = Array.from({ length: KEYS }, (_, n) =>
    changeKeys({ name: `k${n}`, leaves: n % 2 === 0, until: stopping.signal, changed }),
  );
  for (let killed = 0; killed < KILLS; killed += 1) {
    const from = changes;
    await vi.waitFor(() => expect(changes).toBeGreaterThan(from + CHANGES_BEFORE_KILL), {
      ...{ timeout: RECOVERY_MS_MAX, interval: 1 },
    });
    await kill(control);
    control = await startControl();
  }
  stopping.abort();
  await Promise.all(changing);
  expect(other.exitCode).toBeNull();

  const ofKeys = () => events.all.filter(({ type }) => type.startsWith('key.')) as KeyEvent[];
  await vi.waitFor(
    async () => {
      // Read each time: a control may still write for a call that was given up.
      const records = new Map<string, KeyRecord>();
      for (const { value } of await keys.entries())
        if (value.id !== caller.key_id) records.set(value.id, value);
      const byKey = Map.groupBy(ofKeys(), ({ data }) => data.key_id);
      for (const id of records.keys()) expect(byKey.has(id), `${id} has no event`).toBe(true);
      for (const [id, all] of byKey) expect(nameAfter(all), id).toBe(records.get(id)?.name ?? null);
    },
    { timeout: RECOVERY_MS_MAX, interval: 500 },
  );
  const ids = ofKeys().map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
}, 300_000);

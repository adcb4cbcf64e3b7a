// What each NATS user of a stack can do, and what nats-server refuses: a stolen credential of one service is not the key
// to the others.
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Bus, connectBus, openBucket, publishEvent } from '@switchyard/bus';
import {
  eventIds,
  eventSubjectOfHost,
  HOST_EVENTS_STREAM,
  keyRecordKey,
  makeEvent,
  minuteEvent,
  newId,
  placementKey,
  RECEIPTS_STREAM,
} from '@switchyard/contracts';
import { ROOT, runCommand } from '@switchyard/local';
import { makeLogger } from '@switchyard/service';
import { startStack, type TestStack } from '@switchyard/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connectAs, serversOf } from './__fixtures__/nats-users.ts';

const ORG = 'org_default';
const SEEN_WITHIN_MS = 60_000;
const COMMAND_MS_MAX = 120_000;
const ALWAYS_REFUSED = 'forbidden.subject';
let stack: TestStack;
let operator: Bus;
let agent: NatsConnection;
let host: string;
let edge: NatsConnection;

beforeAll(async () => {
  stack = await startStack();
  const logger = makeLogger('test', 'silent');
  operator = await connectBus({ url: stack.natsUrl, service: 'test', logger });
  ({ nc: agent, user: host } = await connectAs(stack, 'computer-agent'));
  ({ nc: edge } = await connectAs(stack, 'edge'));
});
afterAll(async () => {
  await Promise.all([agent, edge].map((nc) => nc?.close()));
  await operator?.close();
  await stack?.stop();
});

const servers = () => serversOf(stack);

/** Those of the subjects that nats-server refuses the connection to publish. */
async function refusedToPublish(nc: NatsConnection, subjects: readonly string[]): Promise<string[]> {
  return refused(nc, subjects, (subject) => nc.publish(subject, '{}'));
}

/** Those of the subjects that nats-server refuses the connection to subscribe to. */
async function refusedToSubscribe(nc: NatsConnection, subjects: readonly string[]): Promise<string[]> {
  return refused(nc, subjects, (subject) => {
    nc.subscribe(subject, { callback: () => {} });
  });
}

async function refused(
  nc: NatsConnection,
  subjects: readonly string[],
  act: (subject: string) => void,
): Promise<string[]> {
  const found = new Set<string>();
  const statuses = nc.status();
  for (const subject of subjects) act(subject);
  nc.publish(ALWAYS_REFUSED); // refusals come in order, so after this one there are no more
  for await (const status of statuses) {
    if (status.type !== 'error') continue;
    const subject = /Violation for \w+ to "([^"]+)"/.exec(status.error.message)?.[1] ?? '';
    if (subject === ALWAYS_REFUSED) break;
    found.add(subject);
  }
  return subjects.filter((subject) => found.has(subject));
}

test('nats-server refuses a connection without a user or with a wrong password', async () => {
  const options = { servers: servers(), reconnect: false };
  await expect(connect(options)).rejects.toThrow(/authorization/i);
  await expect(connect({ ...options, user: 'edge', pass: 'guessed' })).rejects.toThrow(/authorization/i);
});

test('only the owner of the installation reads the passwords', async () => {
  for (const file of ['edge.env', 'operator.env', 'nats.conf']) {
    const { mode } = await stat(join(stack.dataFolder, 'nats-users', file));
    expect(mode & 0o777, file).toBe(0o600);
  }
});

test('a host that is added gets a user bound to its id, and loses it when it is removed', async () => {
  const hosts = async (...words: string[]) => {
    const program = ['services/control/src/hosts-command/main.ts', ...words];
    const { NATS_URL: _, ...machine } = process.env;
    const env = { ...machine, SWITCHYARD_DATA: stack.dataFolder };
    return (await runCommand(process.execPath, program, { cwd: ROOT, env, timeoutMs: COMMAND_MS_MAX }))
      .stdout;
  };
  const reload = async (printed: string) => {
    const [command = ''] = /kill -HUP .*$/m.exec(printed) ?? [];
    await runCommand('bash', ['-c', command], { cwd: ROOT, timeoutMs: COMMAND_MS_MAX });
  };
  const printed = await hosts('add', 'berlin-1');
  const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(printed)?.[1] ?? '';
  const [user, pass] = [setting('NATS_USER'), setting('NATS_PASSWORD')];
  expect(user).toMatch(/^host_/);
  await expect(hosts('add', 'berlin-1')).rejects.toThrow(`berlin-1 exists: ${user}`);
  await expect(hosts('add', '../edge')).rejects.toThrow('is invalid');
  await reload(printed);
  const join = () =>
    connect({
      servers: setting('NATS_URL'),
      user,
      pass,
      inboxPrefix: `_INBOX.${user}.test`,
      reconnect: false,
    });
  const nc = await vi.waitFor(join, { timeout: SEEN_WITHIN_MS });
  const others = [`computer-agent.v1.${host}.exec`, 'event.v1.>'];
  expect(await refusedToSubscribe(nc, [...others, `computer-agent.v1.${user}.exec`])).toEqual(others);
  expect(await hosts('list')).toMatch(new RegExp(`^${user}  silent  \\(berlin-1\\)$`, 'm'));
  // An order finds the host by its name; this one has never connected.
  await expect(hosts('cordon', 'berlin-1')).rejects.toThrow(`host ${user} is unknown`);

  await expect(hosts('remove', 'edge')).rejects.toThrow('No host edge has a user');
  await reload(await hosts('remove', 'berlin-1'));
  await nc.closed();
  await expect(join()).rejects.toThrow(/authorization/i);
});

describe('the credential of a computer host', () => {
  test('reads no keys, events, calls or answers of others', async () => {
    const subjects = ['>', 'event.v1.>', '$KV.keys.>', '_C.>', '_S.>', '_INBOX.>', '$JS.>', 'control.v1.>'];
    expect(await refusedToSubscribe(agent, subjects)).toEqual(subjects);
    const questions = [
      ...['keys', 'orgs', 'system', 'videos', 'webhook-secrets', 'provider-keys'].map(
        (name) => `$JS.API.DIRECT.GET.KV_${name}`,
      ),
      ...['EVENTS', 'REFUSALS'].flatMap((name) => [
        `$JS.API.STREAM.INFO.${name}`,
        `$JS.API.STREAM.CREATE.${name}`,
      ]),
      '$JS.API.STREAM.MSG.GET.EVENTS',
      '$JS.API.STREAM.MSG.GET.KV_keys',
      '$JS.API.STREAM.MSG.GET.OBJ_files',
      '$JS.API.CONSUMER.CREATE.EVENTS.thief',
      '$JS.API.CONSUMER.CREATE.KV_computers.thief',
      '$JS.API.STREAM.LIST',
      'control.v1.keys.create',
      'billing.v1.logs.list.0.0.0.0',
    ];
    expect(await refusedToPublish(agent, questions)).toEqual(questions);
  });

  test('answers for its own host only', async () => {
    const others = ['computer-agent.v1.host_other.exec', 'computer-agent.v1.*.exec', 'computer-agent.v1.>'];
    expect(await refusedToSubscribe(agent, others)).toEqual(others);
    const forged = [
      '_C.host_other.edge.x.1',
      '_C.model-router.edge.x.1',
      '_S.billing.x.edge.y.1',
      '_HB.host_other.x',
      '$KV.hosts.host_other',
      `$KV.hosts.${host}.more`,
      '$KV.keys.x',
      `computer-agent.v1.${host}.exec`,
    ];
    expect(await refusedToPublish(agent, forged)).toEqual(forged);
    const own = [`computer-agent.v1.${host}.exec`, `_S.${host}.>`, `_C.*.${host}.>`];
    expect(await refusedToSubscribe(agent, own)).toEqual([]);
    expect(await refusedToPublish(agent, [`_C.${host}.edge.x.1`, `_HB.${host}.x`])).toEqual([]);
  });

  test('reads and writes the records of its own computers only', async () => {
    const subjectsOf = (name: string) => [
      `$KV.computers.${name}.${ORG}.cmp_x`,
      `$JS.API.DIRECT.GET.KV_computers.$KV.computers.${name}.${ORG}.cmp_x`,
    ];
    const others = [
      ...subjectsOf('host_other'),
      '$JS.API.DIRECT.GET.KV_computers',
      '$JS.API.STREAM.MSG.GET.KV_computers',
      `$KV.computer-placements.${ORG}.cmp_x`,
    ];
    expect(await refusedToPublish(agent, others)).toEqual(others);
    expect(await refusedToPublish(agent, subjectsOf(host))).toEqual([]);
  });

  test('publishes events under its own name only', async () => {
    const events = ['call.completed', 'computer.metered', 'credit.granted', 'video.charged'];
    const subjects = [
      ...events.map((event) => `event.v1.${event}.${ORG}`),
      'host-event.v1.host_other',
      `host-event.v1.${host}.computer.metered.${ORG}`,
    ];
    expect(await refusedToPublish(agent, subjects)).toEqual(subjects);
  });

  test('holds money for minutes only, under its own name', async () => {
    const holds = ['take', 'settle', 'renew'];
    const others = [
      ...holds.map((verb) => `billing.v1.holds.${verb}.0.0.0.0`),
      ...holds.map((verb) => `billing.v1.host-holds.${verb}.host_other.0.0.0.0`),
    ];
    expect(await refusedToPublish(agent, others)).toEqual(others);
    const own = holds.map((verb) => `billing.v1.host-holds.${verb}.${host}.0.0.0.0`);
    expect(await refusedToPublish(agent, own)).toEqual([]);
  });

  test('charges nothing for a computer of another host', async () => {
    const placements = await openBucket(operator, 'computer-placements');
    const rates = {
      per_minute: '1',
      per_vcpu_minute: '0',
      per_gb_memory_minute: '0',
      per_gb_disk_minute: '0',
    };
    const minuteOn = async (of: string) => {
      const placement = {
        ...{ id: newId('computer'), org: ORG, key_id: newId('key'), host: of, image: 'test', rates },
        ...{ cpu: 1, memory_mb: 512, disk_gb: 1, created_at: new Date().toISOString() },
      };
      await placements.create(placementKey(ORG, placement.id), placement);
      return minuteEvent({
        ...{ record: placement, run: { number: 1 }, minute: 0, costNano: 1_000_000_000n },
        ...{ source: 'host', time: new Date() },
      });
    };
    const forged = await minuteOn('host_other');
    const own = await minuteOn(host);
    for (const event of [forged, own])
      await jetstream(agent).publish(eventSubjectOfHost(host), JSON.stringify(event), {
        expect: { streamName: HOST_EVENTS_STREAM },
      });
    const charged = async () => {
      const headers = { authorization: `Bearer ${stack.key}` };
      const response = await fetch(`${stack.url}/v1/logs?type=computer`, { headers });
      const { data } = (await response.json()) as { data: { computer_id: string | null }[] };
      return data.map(({ computer_id }) => computer_id);
    };
    // Control decides in order, so the forged one was refused when the other is there.
    await expect.poll(charged).toContain(own.data.computer_id);
    expect(await charged()).not.toContain(forged.data.computer_id);
  });

  test('cannot make the server plant a key: what it stores is not read', async () => {
    const secret = `sy_${'x'.repeat(40)}`;
    const hash = createHash('sha256').update(secret).digest('hex');
    const keys = await openBucket(operator, 'keys');
    const [first] = await keys.entries();
    const secrets = [{ hash, until: null }];
    const planted = JSON.stringify({ ...first?.value, id: 'key_planted', secrets });
    const name = keyRecordKey(first?.value.org ?? '', 'key_planted');
    const own = `$KV.computers.${host}.planted`;
    await jetstream(agent).publish(own, planted);
    const requests = [`$JS.API.DIRECT.GET.KV_computers.${own}`, '$JS.API.STREAM.INFO.KV_computers'];
    const query = { last_by_subj: `$KV.keys.${name}` };
    let stored = 0;
    for (const request of requests) {
      const before = stored;
      agent.publish(request, '', { reply: `$KV.keys.${name}` });
      const last = async () => {
        stored = (await operator.jsm.streams.getMessage('KV_keys', query))?.seq ?? 0;
        return stored;
      };
      await expect.poll(last).toBeGreaterThan(before);
      const headers = { authorization: `Bearer ${secret}` };
      expect((await fetch(`${stack.url}/v1/usage`, { headers })).status).toBe(401);
    }
    expect(await keys.get(name)).toBeNull();
    await keys.purge(name);
  });

  test('deletes and changes no stream', async () => {
    const streams = ['EVENTS', 'HOST_EVENTS', 'KV_computers', 'KV_hosts'];
    const subjects = streams.flatMap((stream) =>
      ['UPDATE', 'DELETE', 'PURGE', 'MSG.DELETE'].map((verb) => `$JS.API.STREAM.${verb}.${stream}`),
    );
    expect(await refusedToPublish(agent, subjects)).toEqual(subjects);
  });
});

describe('the credential of an edge', () => {
  test('publishes no charge, credit or minute', async () => {
    const events = [
      'call.completed',
      'computer.metered',
      'video.charged',
      'credit.granted',
      'charge.refunded',
    ];
    const subjects = events.map((event) => `event.v1.${event}.${ORG}`);
    expect(await refusedToPublish(edge, subjects)).toEqual(subjects);
    expect(await refusedToPublish(edge, [`event.v1.call.refused.${ORG}.refused`])).toEqual([]);
  });

  test('makes no keys, changes no orgs, reads no keys of makers, and answers for no other service', async () => {
    const subjects = [
      '$KV.keys.x',
      '$KV.orgs.x',
      '$KV.computers.x',
      '$KV.provider-keys.X_API_KEY',
      '$JS.API.DIRECT.GET.KV_provider-keys',
      '_C.model-router.edge.x.1',
      '$O.files.C.x',
    ];
    expect(await refusedToPublish(edge, subjects)).toEqual(subjects);
    const served = ['model-router.v1.language.call', 'billing.v1.>', 'event.v1.>'];
    expect(await refusedToSubscribe(edge, served)).toEqual(served);
  });

  test('cannot make the server publish one: an answer in the stream is not booked', async () => {
    const id = 'req_forged';
    const forged = makeEvent({
      ...{ name: 'credit.granted', id: eventIds.credit(id), source: 'edge', time: new Date() },
      data: { credit_id: id, org: ORG, key_id: 'k', amount_nano: '1000000000', reason: 'x', reference: null },
    });
    await jetstream(edge).publish('$KV.spent-tokens.forged', JSON.stringify(forged));
    // The value of the key, sent by the server to the subject of the event.
    const reply = `event.v1.credit.granted.${ORG}`;
    edge.publish('$JS.API.DIRECT.GET.KV_spent-tokens.$KV.spent-tokens.forged', '', { reply });
    const stored = async () =>
      (await operator.jsm.streams.getMessage('EVENTS', { last_by_subj: reply }))?.json<{ id: string }>().id;
    await expect.poll(stored).toBe(id);
    // Billing reads in order: when it has booked a credit that was granted later, it has seen the forged one.
    const granted = makeEvent({ ...forged, name: 'credit.granted', id: 'crd_true', time: new Date() });
    await publishEvent(operator, { ...granted, data: { ...forged.data, credit_id: 'crd_true' } });
    const credits = async () => {
      const headers = { authorization: `Bearer ${stack.key}` };
      const response = await fetch(`${stack.url}/v1/credits`, { headers });
      return ((await response.json()) as { data: { id: string }[] }).data.map((credit) => credit.id);
    };
    await expect.poll(credits).toEqual(['crd_true']);
  });
});

test('receipts come from edges only', async () => {
  expect(await refusedToPublish(agent, ['receipts.v1.host_x'])).toEqual(['receipts.v1.host_x']);
  expect(await refusedToPublish(edge, [`$JS.API.STREAM.PURGE.${RECEIPTS_STREAM}`])).toHaveLength(1);
});

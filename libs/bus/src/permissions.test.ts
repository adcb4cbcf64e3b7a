import * as contracts from '@switchyard/contracts';
import { HOST_SERVICE, SERVICE_NAMES, type ServiceName } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { HOST_CALLERS, STREAM_CALLERS } from './access.ts';
import { calleeOf } from './call-subjects.ts';
import { permissionsOf } from './permissions.ts';

/** NATS' own rule: `*` is one token, `>` is one or more. */
function covers(pattern: string, subject: string): boolean {
  const [wanted, given] = [pattern.split('.'), subject.split('.')];
  for (const [index, token] of wanted.entries()) {
    if (token === '>') return given.length > index;
    if (given[index] === undefined || (token !== '*' && token !== given[index])) return false;
  }
  return wanted.length === given.length;
}

const allows = (patterns: readonly string[], subject: string) =>
  patterns.some((pattern) => covers(pattern, subject));
const HOST = 'host_a';
const userOf = (service: ServiceName) => (service === HOST_SERVICE ? HOST : service);

const ofHosts = Object.entries(HOST_CALLERS).map(
  ([verb, services]) => [`${HOST_SERVICE}.v1.*.${verb}`, services] as const,
);
const callers: Readonly<Record<string, readonly ServiceName[]>> = {
  ...STREAM_CALLERS,
  ...Object.fromEntries(ofHosts),
};
/** Every call subject that the contracts name, in constants `*_SUBJECT` and functions, and those of a host. */
const callSubjects = Object.entries(contracts).flatMap(([name, value]) => {
  if (name.endsWith('_SUBJECT')) return [String(value)];
  if (name === 'modelCallSubject') return [contracts.modelCallSubject('language')];
  return [];
});
for (const [pattern] of ofHosts) callSubjects.push(pattern.replace('*', HOST));

test('every call whose body is a stream, or goes to a host, has callers, and its service may serve it', () => {
  expect(callSubjects.length).toBeGreaterThanOrEqual(Object.keys(callers).length);
  for (const subject of callSubjects) {
    const pattern = Object.keys(callers).find((each) => covers(each, subject));
    expect(pattern, subject).toBeDefined();
    for (const service of callers[pattern!]!)
      expect(allows(permissionsOf(service, userOf(service)).publish, subject), subject).toBe(true);
    const service = subject.split('.')[0] as ServiceName;
    expect(allows(permissionsOf(service, calleeOf(subject)).subscribe, subject), subject).toBe(true);
  }
});

test('no service may publish the events of another', () => {
  for (const [event, publishers] of [
    ['call.completed', ['model-router']],
    ['computer.metered', ['control']],
    ['credit.granted', ['billing']],
    ['charge.refunded', ['billing']],
    ['key.created', ['control']],
  ] as const) {
    const may = SERVICE_NAMES.filter((service) =>
      allows(permissionsOf(service, userOf(service)).publish, `event.v1.${event}.org_x`),
    );
    expect(may.sort(), event).toEqual([...publishers].sort());
  }
});

test('a host publishes events under its own name, and reads and writes records under its own name only', () => {
  const { publish } = permissionsOf(HOST_SERVICE, HOST);
  for (const host of [HOST, 'host_b'])
    for (const subject of [
      `host-event.v1.${host}`,
      `billing.v1.host-holds.take.${host}.0.0.0.0`,
      `$KV.computers.${host}.org_x.cmp_x`,
      `$JS.API.DIRECT.GET.KV_computers.$KV.computers.${host}.org_x.cmp_x`,
    ])
      expect(allows(publish, subject), subject).toBe(host === HOST);
  expect(allows(publish, '$JS.API.DIRECT.GET.KV_computers')).toBe(false);
});

test('a user answers, steers and receives only calls of its own', () => {
  const { publish, subscribe } = permissionsOf(HOST_SERVICE, HOST);
  expect(allows(publish, '_C.host_a.edge.x.1')).toBe(true);
  expect(allows(publish, '_C.host_b.edge.x.1')).toBe(false);
  expect(allows(publish, '_C.model-router.edge.x.1')).toBe(false);
  expect(allows(publish, '_S.billing.y.host_a.x.1')).toBe(true);
  expect(allows(publish, '_S.billing.y.edge.x.1')).toBe(false);
  expect(allows(publish, '_S.all.billing.edge.x.1')).toBe(false);
  expect(allows(publish, '_HB.host_b.x')).toBe(false);
  expect(allows(subscribe, '_C.billing.host_a.x.1')).toBe(true);
  expect(allows(subscribe, '_C.billing.edge.x.1')).toBe(false);
  expect(allows(subscribe, '_S.host_b.x.edge.y.1')).toBe(false);
  expect(allows(subscribe, '_INBOX.edge.x')).toBe(false);
});

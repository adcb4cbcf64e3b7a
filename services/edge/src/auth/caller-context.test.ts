// Tags, client request ids and trace contexts: what is accepted, ignored and refused.
import type { KeyRecord } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { callerContextOf, joinTags } from './caller-context.ts';

const read = (headers: Record<string, string>, metadata: Record<string, string> | null = null) =>
  callerContextOf(headers, { metadata } as KeyRecord);
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test('the fields that are there, and nothing for a request without any', () => {
  expect(read({})).toEqual({});
  expect(
    read({
      ...{ 'x-service-tags': 'team=search, user=42,path=a/b=c', 'x-client-request-id': 'my-1' },
      traceparent: TRACE,
    }),
  ).toEqual({
    tags: { team: 'search', user: '42', path: 'a/b=c' },
    client_request_id: 'my-1',
    traceparent: TRACE,
  });
});

test.each([
  ['UTF-8', 'utf8'],
  ['Latin-1', 'latin1'],
] as const)('tags may be in %s', (_name, encoding) => {
  const header = Buffer.from('team=Übung,user=Müller', encoding).toString('latin1'); // as Node reads it
  expect(read({ 'x-service-tags': header }).tags).toEqual({ team: 'Übung', user: 'Müller' });
});

test('the tags of a key win over those of its requests', () => {
  expect(read({ 'x-service-tags': 'team=mine,user=42' }, { team: 'search' }).tags).toEqual({
    ...{ team: 'search', user: '42' },
  });
  expect(read({}, { team: 'search' })).toEqual({ tags: { team: 'search' } });
  expect(read({}, {})).toEqual({});
});

test.each([
  ['00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01'],
  ['4bf92f3577b34da6a3ce929d0e0e4736'],
  [`${TRACE}-more`],
])('an invalid traceparent is ignored: %s', (traceparent) => {
  expect(read({ traceparent })).toEqual({});
});

test.each([
  ['team', /"team" is not <name>=<value>/],
  ['', /is not <name>=<value>/],
  ['team=', /"team" must be 1 to 128 characters/],
  ['=search', /a letter or digit first/],
  ['te am=search', /a letter or digit first/],
  [`team=${'x'.repeat(129)}`, /must be 1 to 128 characters/],
  [Array.from({ length: 17 }, (_, i) => `t${i}=x`).join(), /0 to 16 entries/],
])('refuses the tags %j', (header, message) => {
  expect(() => read({ 'x-service-tags': header })).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'X-Service-Tags' }),
  );
  expect(() => read({ 'x-service-tags': header })).toThrow(message);
});

test('refuses more tags of a request and its key together than an event may have', () => {
  const half = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`${prefix}${i}`, 'x']));
  expect(() => joinTags(half('a'), half('b'), 'metadata')).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'metadata' }),
  );
});

test.each(['x'.repeat(513), 'naïve', 'a\tb'])('refuses the client request id %j', (id) => {
  expect(() => read({ 'x-client-request-id': id })).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'X-Client-Request-Id' }),
  );
});

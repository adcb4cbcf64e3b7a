import { readConfig } from '@switchyard/service';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { allowsAddress, allowsEndpoint, parseAllowList } from './allow-list.ts';
import { egressConfig } from './config.ts';

test('networks, single addresses and endpoints are distinguished', () => {
  const list = parseAllowList(' 10.1.0.0/16, fd00::/8 ,192.168.0.7,Media.Internal:9000,[::1]:8080, ');
  expect(
    ['10.1.255.1', '::ffff:10.1.0.1', 'fd12::1', '192.168.0.7'].map((one) => allowsAddress(list, one)),
  ).toEqual([true, true, true, true]);
  expect(['10.2.0.1', '192.168.0.8', 'fe80::1', '8.8.8.8'].map((one) => allowsAddress(list, one))).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(allowsEndpoint(list, 'media.internal', 9000)).toBe(true);
  expect(allowsEndpoint(list, '[::1]', 8080)).toBe(true);
  expect(allowsEndpoint(list, 'media.internal', 9001)).toBe(false);
});

test.each([
  'media.internal',
  '10.0.0.0/33',
  'http://media:80',
  'media/path:80',
  'user@media:80',
  ':80',
  'a b:80',
])('%s in SWITCHYARD_EGRESS_ALLOW stops a service at its start, by name', (SWITCHYARD_EGRESS_ALLOW) => {
  expect(() => readConfig(z.object(egressConfig), { SWITCHYARD_EGRESS_ALLOW })).toThrow(
    /SWITCHYARD_EGRESS_ALLOW: .* is neither a network/,
  );
});

test('without the setting only public addresses are allowed', () => {
  const { SWITCHYARD_EGRESS_ALLOW: list } = readConfig(z.object(egressConfig), {});
  expect(list.networks).toEqual([]);
  expect(list.endpoints.size).toBe(0);
});

import { readConfig } from '@switchyard/service';
import { expect, test } from 'vitest';
import { agentConfig } from './config.ts';

const networksOf = (list: string) =>
  readConfig(agentConfig, { SWITCHYARD_COMPUTER_NETWORKS: list }).SWITCHYARD_COMPUTER_NETWORKS;

test('networks that computers may reach are a list of IPv4 networks', () => {
  expect(networksOf('10.1.0.0/16, 192.168.7.0/24,')).toEqual(['10.1.0.0/16', '192.168.7.0/24']);
  expect(networksOf('')).toEqual([]);
});

test.each(['10.1.0.0/16,fd00::/8', 'mirror.internal:5000', '10.1.0.0/33'])(
  'a network that iptables would not take (%s) is refused at the start, with the name of the setting',
  (list) => {
    expect(() => networksOf(list)).toThrow(/SWITCHYARD_COMPUTER_NETWORKS/);
  },
);

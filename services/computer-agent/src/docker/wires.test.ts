import { expect, test } from 'vitest';
import { dotted, openWires, rangeOf } from './wires.ts';

const LOOP = 'lo'; // an interface that every host has

test.each([
  ['172.18.0.0/16', '172.18.128.0', '172.18.255.254', 16],
  ['192.168.16.0/20', '192.168.24.0', '192.168.31.254', 20],
  ['10.0.0.0/24', '10.0.0.128', '10.0.0.254', 24],
  ['10.0.0.0/30', '10.0.0.2', '10.0.0.2', 30],
  ['192.0.0.0/2', '224.0.0.0', '255.255.255.254', 2],
])('of %s the upper half is given, but for the last', (subnet, first, last, prefix) => {
  const range = rangeOf(subnet)!;
  expect([dotted(range.first), dotted(range.first + range.count - 1), range.prefix]).toEqual([
    first,
    last,
    prefix,
  ]);
});

test.each(['fd00::/64', '10.0.0.0/31', '10.0.0.0/32', ''])('of "%s" nothing is', (subnet) => {
  expect(rangeOf(subnet)).toBeUndefined();
});

const addresses = { Driver: 'default', Config: [{ Subnet: '10.9.0.0/24', Gateway: '10.9.0.1' }] };

test('a bridge that is not on this host, or has no addresses, takes no wires', async () => {
  await expect(openWires(addresses, 'sy-elsewhere')).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(openWires({ Driver: 'default', Config: [] }, LOOP)).rejects.toThrow('no IPv4 addresses');
});

test('a process that is not of the container gets none', async () => {
  const wires = await openWires(addresses, LOOP);
  await expect(wires.lay(process.pid, 'another')).rejects.toThrow('does not see the processes');
});

import { expect, test } from 'vitest';
import { parseResolvers } from './firewall.ts';

test('name servers are read from resolv.conf; those on loopback are left to Docker', () => {
  const text =
    '# made by x\nsearch a.example\nnameserver 10.1.2.3\nnameserver 127.0.0.53\n nameserver 192.0.2.1\nnameserver fd00::1\n';
  expect(parseResolvers(text)).toEqual(['10.1.2.3', '192.0.2.1']);
});

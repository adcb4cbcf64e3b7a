import { expect, test } from 'vitest';
import { PullTurns } from './pull-turns.ts';

const { signal } = new AbortController();

test('an org has one turn at a time, and its waiting pulls delay no other org', async () => {
  const turns = new PullTurns(2);
  const given: string[] = [];
  const take = (org: string, name: string) => turns.take(org, signal).then(() => given.push(name));
  await take('org_a', 'a1');
  const second = take('org_a', 'a2');
  await take('org_b', 'b1');
  const third = take('org_c', 'c1');
  turns.end('org_b');
  await third;
  expect(given).toEqual(['a1', 'b1', 'c1']);
  turns.end('org_a');
  await second;
  expect(given).toEqual(['a1', 'b1', 'c1', 'a2']);
});

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { readOrMakeUsers, renewPassword, usersFolder, writeNatsConfig } from './nats-users.ts';

test('users keep their passwords over starts, and each has one of its own', async () => {
  const dataFolder = await temporaryFolder();
  const first = await readOrMakeUsers(dataFolder, ['computer-agent', 'computer-agent-2']);
  const again = await readOrMakeUsers(dataFolder, ['computer-agent', 'computer-agent-2']);
  const asked = [
    ['edge', 'edge'],
    ['model-router', 'model-router-2'],
    ['computer-agent', 'computer-agent'],
    ['computer-agent', 'computer-agent-2'],
  ] as const;
  const users = asked.map(([service, instance]) => first.of(service, instance)!);
  expect(asked.map(([service, instance]) => again.of(service, instance))).toEqual(users);
  expect(new Set([first.operator, ...users].map(({ password }) => password)).size).toBe(5);
  expect(users.map(({ user }) => user)).toEqual([
    'edge',
    'model-router',
    expect.stringMatching(/^host_/),
    expect.stringMatching(/^host_/),
  ]);
  expect(first.of('entry', 'entry')).toBeUndefined();
});

test('a host that has an id keeps it when it gets a user', async () => {
  const dataFolder = await temporaryFolder();
  await mkdir(join(dataFolder, 'hosts', 'computer-agent'), { recursive: true });
  await writeFile(join(dataFolder, 'hosts', 'computer-agent', 'host-id'), 'host_known\n');
  const users = await readOrMakeUsers(dataFolder, ['computer-agent']);
  expect(users.of('computer-agent', 'computer-agent')?.user).toBe('host_known');
});

test('a renewed user keeps its name, which is the id of its host, and gets another password', async () => {
  const dataFolder = await temporaryFolder();
  const before = await readOrMakeUsers(dataFolder, ['computer-agent']);
  const renewed = await renewPassword(usersFolder(dataFolder), 'computer-agent');
  const after = await readOrMakeUsers(dataFolder, ['computer-agent']);
  expect(after.of('computer-agent', 'computer-agent')).toEqual(renewed);
  const known = before.of('computer-agent', 'computer-agent')!;
  expect(renewed.user).toBe(known.user);
  expect(renewed.password).not.toBe(known.password);
  expect(after.operator).toEqual(before.operator);
  await expect(renewPassword(usersFolder(dataFolder), 'berlin-1')).rejects.toThrow('has no user berlin-1');
});

test('the configuration has every user, and only the operator has no limits', async () => {
  const dataFolder = await temporaryFolder();
  await readOrMakeUsers(dataFolder, ['computer-agent']);
  const config = await readFile(await writeNatsConfig(usersFolder(dataFolder)), 'utf8');
  const { users } = JSON.parse(config.split('\nauthorization: ')[1]!) as {
    users: { user: string; permissions?: { publish: { allow: string[] } } }[];
  };
  expect(users.filter(({ permissions }) => permissions === undefined).map(({ user }) => user)).toEqual([
    'operator',
  ]);
  expect(users).toHaveLength(7);
  for (const { permissions } of users) expect(permissions?.publish.allow ?? []).not.toContain('>');
});

// Connections with the credentials of a stack's NATS users, as if stolen.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { readNatsUrl } from '@switchyard/bus';
import type { TestStack } from '@switchyard/testing';

type At = Pick<TestStack, 'natsUrl' | 'dataFolder'>;

export const serversOf = ({ natsUrl }: At) => readNatsUrl(natsUrl).servers;

export async function credentialsOf({ dataFolder }: At, name: string) {
  const text = await readFile(join(dataFolder, 'nats-users', `${name}.env`), 'utf8');
  const [, user = '', password = ''] = /^NATS_USER=(.+)\nNATS_PASSWORD=(.+)\n$/.exec(text) ?? [];
  return { user, password };
}

export async function connectAs(at: At, name: string): Promise<{ nc: NatsConnection; user: string }> {
  const { user, password: pass } = await credentialsOf(at, name);
  const nc = await connect({ servers: serversOf(at), user, pass, inboxPrefix: `_INBOX.${user}.test` });
  return { nc, user };
}

/**
 * The NATS users of an installation. `<folder>/<name>.env` holds the user and the password of one service or host, mode
 * 0600; `<folder>/nats.conf` is nats-server's configuration, which grants each user what permissions.ts derives for it.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { NatsCredentials } from '@switchyard/bus/nats-url';
import { isServiceName, OPERATOR, permissionsOf } from '@switchyard/bus/permissions';
import { HOST_SERVICE, idOf, newId, SERVICE_NAMES } from '@switchyard/contracts';
import { ROOT } from './config.ts';
import type { ServerCertificate } from './nats-tls.ts';
import { newSecret, writePrivately } from './secret-files.ts';
import { SetupError } from './setup-error.ts';

const BASE_CONFIG = join(ROOT, 'infra', 'nats', 'server.conf');
const EXTENSION = '.env';
/** Makes nats-server in docker-compose.yml reload its configuration and certificate. */
export const COMPOSE_RELOAD = 'docker compose kill -s HUP nats';

export interface NatsUsers {
  readonly operator: NatsCredentials;
  /** The user of an instance; undefined for a program that is not a service. */
  of(service: string, instance: string): NatsCredentials | undefined;
}

/** Reads the users of an installation, or makes them. `hosts` are the instances of the computer-agent. */
export async function readOrMakeUsers(dataFolder: string, hosts: readonly string[]): Promise<NatsUsers> {
  const folder = usersFolder(dataFolder);
  const operator = await readOrMakeUser(folder, OPERATOR, OPERATOR);
  const users = new Map<string, NatsCredentials>();
  for (const name of SERVICE_NAMES.filter((service) => service !== HOST_SERVICE))
    users.set(name, await readOrMakeUser(folder, name, name));
  for (const instance of hosts)
    users.set(instance, await readOrMakeUser(folder, instance, await hostIdOf(dataFolder, instance)));
  return {
    operator,
    of: (service, instance) => users.get(service === HOST_SERVICE ? instance : service),
  };
}

/** The folder that `npm run credentials` fills for docker-compose.yml. */
export function credentialsFolder(env: Readonly<Record<string, string | undefined>>): string {
  return resolve(ROOT, env.SWITCHYARD_CREDENTIALS || '.credentials');
}

export function usersFolder(dataFolder: string): string {
  return join(dataFolder, 'nats-users');
}

/** The id that the agent's own folder holds, or a new one, which the agent takes from its user. */
async function hostIdOf(dataFolder: string, instance: string): Promise<string> {
  const known = await readFile(join(dataFolder, 'hosts', instance, 'host-id'), 'utf8').catch(() => '');
  return idOf('host').safeParse(known.trim()).data ?? newId('host');
}

/** Reads the credentials of `name`, or makes them. @param user the name of the NATS user for new credentials */
export async function readOrMakeUser(folder: string, name: string, user: string): Promise<NatsCredentials> {
  const file = join(folder, name + EXTENSION);
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (kept !== undefined) return parseUser(file, kept);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return writeUser(file, user);
}

/** Gives the user in `<name>.env` a new password. @throws SetupError when there is none */
export async function renewPassword(folder: string, name: string): Promise<NatsCredentials> {
  const known = (await readUsers(folder)).find((user) => user.name === name);
  if (known) return writeUser(known.file, known.user);
  throw new SetupError(`${folder} has no user ${name}.`, 'Use the name of a file there, without .env.');
}

/** Writes a user with a new password. */
async function writeUser(file: string, user: string): Promise<NatsCredentials> {
  const password = newSecret();
  await writePrivately(file, `NATS_USER=${user}\nNATS_PASSWORD=${password}\n`);
  return { user, password };
}

interface KnownUser extends NatsCredentials {
  readonly name: string;
  readonly file: string;
}

/** Every user in the folder. */
export async function readUsers(folder: string): Promise<KnownUser[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(EXTENSION)).sort();
  return Promise.all(
    files.map(async (name) => {
      const file = join(folder, name);
      const user = parseUser(file, await readFile(file, 'utf8'));
      return { name: name.slice(0, -EXTENSION.length), file, ...user };
    }),
  );
}

/**
 * Writes nats-server's configuration for every user in the folder. Returns its path.
 * @param certificate with it the server speaks TLS only
 */
export async function writeNatsConfig(folder: string, certificate?: ServerCertificate): Promise<string> {
  const users = await readUsers(folder);
  const authorization = JSON.stringify({ users: users.map(withPermissions) }, null, 1);
  const file = join(folder, 'nats.conf');
  const tls = certificate && { cert_file: certificate.certFile, key_file: certificate.keyFile };
  const parts = [
    await readFile(BASE_CONFIG, 'utf8'),
    ...(tls ? [`tls: ${JSON.stringify(tls)}`] : []),
    `authorization: ${authorization}`,
  ];
  await writePrivately(file, `${parts.join('\n')}\n`);
  return file;
}

function withPermissions({ user, password }: NatsCredentials) {
  if (user === OPERATOR) return { user, password };
  const { publish, subscribe } = permissionsOf(isServiceName(user) ? user : HOST_SERVICE, user);
  return { user, password, permissions: { publish: { allow: publish }, subscribe: { allow: subscribe } } };
}

function parseUser(file: string, text: string): NatsCredentials {
  const [, user, password] = /^NATS_USER=(\S+)\nNATS_PASSWORD=(\S+)\n$/.exec(text) ?? [];
  if (user !== undefined && password !== undefined) return { user, password };
  throw new SetupError(
    `${file} does not hold a NATS user.`,
    `Remove ${file}; the next start makes a new one.`,
  );
}

/**
 * The NATS users of computer hosts on other machines: `npm run hosts -- add` and `-- remove`. A user is bound to the id
 * of its host; nats-server knows it once it has read nats.conf again.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join, relative, resolve } from 'node:path';
import { type NatsCredentials, readNatsUrl } from '@switchyard/bus/nats-url';
import { idOf, newId } from '@switchyard/contracts';
import { addressesFile, readAddresses } from './addresses.ts';
import { ROOT } from './config.ts';
import { COMPOSE_CERTIFICATE, natsTlsFiles, publicNames, type ServerCertificate } from './nats-tls.ts';
import {
  COMPOSE_RELOAD,
  credentialsFolder,
  readOrMakeUser,
  readUsers,
  usersFolder,
  writeNatsConfig,
} from './nats-users.ts';
import { SetupError } from './setup-error.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const NATS_PORT = 4222;
/** Where a host keeps its data and the certificate authority of NATS; any other path would do. */
const HOST_DATA = '/var/lib/switchyard';
const HOST_CA_FILE = '/etc/switchyard/nats-ca.pem';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where an installation keeps its users, and what a host and its operator must know. */
interface Installation {
  readonly usersFolder: string;
  readonly natsUrl: string;
  /** Copied to hosts; undefined: NATS has no TLS. */
  readonly caFile: string | undefined;
  readonly certificate: ServerCertificate | undefined;
  /** Makes nats-server reload its users. */
  readonly reload: string;
}

/** The hosts that have a user: host id -> name. Empty for an installation whose users are not here. */
export async function hostNames(env: Environment): Promise<ReadonlyMap<string, string>> {
  const found = await findInstallation(env);
  const users = found ? await readUsers(found.usersFolder) : [];
  return new Map(users.filter(({ user }) => isHost(user)).map(({ name, user }) => [user, name]));
}

/** @returns what to do next, for the standard output. @throws SetupError */
export async function addHost(env: Environment, name: string): Promise<string> {
  if (!NAME.test(name))
    throw new SetupError(
      `Name ${JSON.stringify(name)} is invalid.`,
      'Use up to 63 of the characters a-z, 0-9 and -.',
    );
  const installation = await requireInstallation(env);
  const { usersFolder: folder, certificate } = installation;
  const known = (await readUsers(folder)).find((user) => user.name === name);
  if (known)
    throw new SetupError(`${name} exists: ${known.user}.`, 'Choose another name, or remove it first.');
  const credentials = await readOrMakeUser(folder, name, newId('host'));
  await writeNatsConfig(folder, certificate);
  return instructions(name, credentials, installation);
}

/** @returns what to do next. @throws SetupError */
export async function removeHost(env: Environment, nameOrId: string): Promise<string> {
  const { usersFolder: folder, certificate, reload } = await requireInstallation(env);
  const users = await readUsers(folder);
  const known = users.find(({ name, user }) => (name === nameOrId || user === nameOrId) && isHost(user));
  if (!known) throw new SetupError(`No host ${nameOrId} has a user.`, '`npm run hosts` lists hosts.');
  await rm(known.file);
  await writeNatsConfig(folder, certificate);
  return `${known.name} (${known.user}) has no NATS user any more. To end its connections: ${reload}\n`;
}

function instructions(name: string, { user, password }: NatsCredentials, to: Installation): string {
  const { natsUrl, caFile, reload } = to;
  const settings = [
    `NATS_URL=${natsUrl}`,
    `NATS_USER=${user}`,
    `NATS_PASSWORD=${password}`,
    ...(caFile === undefined ? [] : [`NATS_TLS_CA=${HOST_CA_FILE}`]),
    `SWITCHYARD_DATA=${HOST_DATA}`,
  ];
  const steps = [
    `Make nats-server reload its users: ${reload}`,
    ...(caFile === undefined ? [] : [`Copy ${shown(caFile)} to ${HOST_CA_FILE} on the new host.`]),
    'Start the agent there, as root, with these settings, and the limits and prices of computers that control has:',
  ];
  const numbered = steps.map((step, index) => `${index + 1}. ${step}`).join('\n');
  const start =
    'node_modules/.bin/node services/computer-agent/src/main.ts    # docs/deployment.md, "A computer host"';
  return `${name} is ${user}. Next:\n\n${numbered}\n\n${settings.join('\n')}\n\n${start}\n`;
}

/** The running stack of `npm start`, unless NATS_URL names another one; else what `npm run credentials` made. */
async function findInstallation(env: Environment): Promise<Installation | undefined> {
  const dataFolder = resolve(ROOT, env.SWITCHYARD_DATA || '.data');
  const local = usersFolder(dataFolder);
  if (!env.NATS_URL && existsSync(addressesFile(dataFolder)) && existsSync(local)) {
    const reload = `kill -HUP $(cat ${shown(join(dataFolder, 'run', 'nats.pid'))})`;
    const natsUrl = readNatsUrl(readAddresses(dataFolder).NATS_URL).servers.join(',');
    return { usersFolder: local, natsUrl, caFile: undefined, certificate: undefined, reload };
  }
  const folder = credentialsFolder(env);
  if (!existsSync(usersFolder(folder))) return undefined;
  const [name = '127.0.0.1'] = await publicNames(folder);
  return {
    usersFolder: usersFolder(folder),
    natsUrl: `tls://${isIP(name) === 6 ? `[${name}]` : name}:${env.SWITCHYARD_NATS_PORT || NATS_PORT}`,
    caFile: natsTlsFiles(folder).caFile,
    certificate: COMPOSE_CERTIFICATE,
    reload: COMPOSE_RELOAD,
  };
}

async function requireInstallation(env: Environment): Promise<Installation> {
  const found = await findInstallation(env);
  if (found) return found;
  throw new SetupError(
    `No NATS users are in ${shown(credentialsFolder(env))}.`,
    'Run npm start, or npm run credentials for docker-compose.yml.',
  );
}

function isHost(user: string): boolean {
  return idOf('host').safeParse(user).success;
}

function shown(path: string): string {
  return relative(process.cwd(), path) || '.';
}

/**
 * `npm run credentials` creates the passwords, secrets and certificate authority that docker-compose.yml needs, in the
 * folder SWITCHYARD_CREDENTIALS (default `.credentials`). Existing ones are kept; nats.conf and the certificate of
 * nats-server are rewritten. SWITCHYARD_NATS_NAMES: further names and addresses of nats-server.
 * `npm run credentials -- renew <name>` also gives the NATS user in `<name>.env` a new password.
 */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { HOST_SERVICE } from '@switchyard/contracts';
import { COMPOSE_CERTIFICATE, ensureNatsTls } from './nats-tls.ts';
import {
  COMPOSE_RELOAD,
  credentialsFolder,
  readOrMakeUsers,
  renewPassword,
  usersFolder,
  writeNatsConfig,
} from './nats-users.ts';
import { ensureComposeSecrets } from './secret-files.ts';
import { SetupError } from './setup-error.ts';

const folder = credentialsFolder(process.env);
const names = (process.env.SWITCHYARD_NATS_NAMES ?? '').split(',').map((name) => name.trim());
const isUpdate = existsSync(join(usersFolder(folder), 'nats.conf'));
const [verb, renewed] = process.argv.slice(2);
try {
  if (verb !== undefined && (verb !== 'renew' || renewed === undefined))
    throw new SetupError('The arguments are wrong.', 'Use npm run credentials [-- renew <name>].');
  await readOrMakeUsers(folder, [HOST_SERVICE]);
  if (renewed !== undefined) await renewPassword(usersFolder(folder), renewed);
  await ensureNatsTls(
    folder,
    names.filter((name) => name !== ''),
  );
  await writeNatsConfig(usersFolder(folder), COMPOSE_CERTIFICATE);
  await ensureComposeSecrets(folder);
  console.log(
    `The credentials of NATS and MongoDB, and the secret of providers’ keys, are in ${relative(process.cwd(), folder) || folder}; keep them.`,
  );
  if (isUpdate) console.log(`Reload the configuration of a running nats-server: ${COMPOSE_RELOAD}`);
} catch (error) {
  console.error(error instanceof SetupError ? `${error.message}\n${error.fix}` : error);
  process.exitCode = 1;
}

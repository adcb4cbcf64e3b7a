/**
 * `npm run credentials`: makes the passwords that docker-compose.yml needs, once, in the folder SWITCHYARD_CREDENTIALS
 * (default `.credentials`). Existing ones are kept; nats.conf is written again, as after an update of Switchyard.
 */
import { relative, resolve } from 'node:path';
import { HOST_SERVICE } from '@switchyard/bus/permissions';
import { ROOT } from './config.ts';
import { ensureMongoUser } from './mongo-user.ts';
import { readOrMakeUsers, usersFolder, writeNatsConfig } from './nats-users.ts';
import { SetupError } from './setup-error.ts';

const folder = resolve(ROOT, process.env.SWITCHYARD_CREDENTIALS || '.credentials');
try {
  await readOrMakeUsers(folder, [HOST_SERVICE]);
  await writeNatsConfig(usersFolder(folder));
  await ensureMongoUser(folder);
  console.log(
    `The credentials of NATS and MongoDB are in ${relative(process.cwd(), folder) || folder}; keep them.`,
  );
} catch (error) {
  console.error(error instanceof SetupError ? `${error.message}\n${error.fix}` : error);
  process.exitCode = 1;
}

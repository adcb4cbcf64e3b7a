/** The user of MongoDB in docker-compose.yml: `<folder>/mongo.env`, which the database and billing read. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivately } from './nats-users.ts';

const PASSWORD_BYTES = 24;
/** As docker-compose.yml names it. */
const USER = 'switchyard';

/** Makes the user, unless there is one: MongoDB takes a password only for a new volume. */
export async function ensureMongoUser(folder: string): Promise<void> {
  const file = join(folder, 'mongo.env');
  if (existsSync(file)) return;
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const lines = [
    `MONGO_INITDB_ROOT_USERNAME=${USER}`,
    `MONGO_INITDB_ROOT_PASSWORD=${password}`,
    `MONGODB_PASSWORD=${password}`,
  ];
  await writePrivately(file, `${lines.join('\n')}\n`);
}

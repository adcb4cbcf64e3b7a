/** What encrypts the keys of providers in docker-compose.yml: `<folder>/providers.env`, for the services that need it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { newProvidersSecret } from './key-file.ts';
import { writePrivately } from './nats-users.ts';

/** Makes the secret, unless there is one: keys that are stored can be decrypted with no other. */
export async function ensureProvidersSecret(folder: string): Promise<void> {
  const file = join(folder, 'providers.env');
  if (existsSync(file)) return;
  await writePrivately(file, `SWITCHYARD_PROVIDERS_SECRET=${newProvidersSecret()}\n`);
}

// Keys with only the permissions that they need: POST, GET and DELETE /v1/keys.
//   node examples/keys.ts
import { dataOf, SwitchyardError } from '@switchyard/client';
import { switchyard } from './client.ts';

const { api } = switchyard();
const made = await dataOf(api.POST('/v1/keys', { body: { name: 'a reader', permissions: ['usage:read'] } }));
console.log(`made ${made.id}: ${made.key.slice(0, 8)}… (shown this once; only its hash is kept)`);

const { data } = await dataOf(api.GET('/v1/keys'));
for (const { id, name, prefix, permissions } of data)
  console.log(`  ${id}  ${prefix}…  ${name}: ${permissions.join(', ')}`);

const reader = switchyard(made.key).api;
await dataOf(reader.GET('/v1/usage'));
console.log('it may read the usage');
await refused('it may not use models', () =>
  dataOf(reader.POST('/v1/embeddings', { body: { model: 'local/embed', input: 'x' } })),
);

await dataOf(api.DELETE('/v1/keys/{id}', { params: { path: { id: made.id } } }));
console.log('revoked; it stops working on every edge within a second');

async function refused(what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof SwitchyardError)) throw error;
    return console.log(`${what}: ${error.status} ${error.code}: ${error.message}`);
  }
  throw new Error(`a call was let through that should not be: ${what}`);
}

// Keys with only the permissions that they need: POST, GET and DELETE /v1/keys.
//   node examples/keys.ts
import { ApiError, api } from './client.ts';

interface Key {
  id: string;
  name: string;
  prefix: string;
  permissions: string[];
}

const made = await api<Key & { key: string }>('POST', '/v1/keys', {
  name: 'a reader',
  permissions: ['usage:read'],
});
console.log(`made ${made.id}: ${made.key.slice(0, 8)}… (shown this once; only its hash is kept)`);

const { data } = await api<{ data: Key[] }>('GET', '/v1/keys');
for (const { id, name, prefix, permissions } of data)
  console.log(`  ${id}  ${prefix}…  ${name}: ${permissions.join(', ')}`);

await api('GET', '/v1/usage', undefined, made.key);
console.log('it may read the usage');
await refused('it may not use models', () =>
  api('POST', '/v1/embeddings', { model: 'local/embed', input: 'x' }, made.key),
);

await api('DELETE', `/v1/keys/${made.id}`);
console.log('revoked; it stops working on every edge within a second');

async function refused(what: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return console.log(`${what}: ${error.status} ${error.code}: ${error.message}`);
  }
  throw new Error(`a call was let through that should not be: ${what}`);
}

import { serve } from '@switchyard/bus';
import { ALL_PERMISSIONS, type OperationRequest, type Permission } from '@switchyard/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEdge, type TestEdge } from '../__fixtures__/test-edge.ts';

let edge: TestEdge;
/** What got through to control. */
const asked: OperationRequest<'keys.create'>[] = [];

beforeAll(async () => {
  edge = await startTestEdge();
  const control = await serve(edge.bus, { name: 'control', version: '0.0.1', description: 'of a test' });
  control.handle('keys.create', async (request) => {
    asked.push(request);
    const { name, permissions } = request.body;
    const at = new Date(edge.clock.now()).toISOString();
    return {
      object: 'key',
      id: 'key_new',
      key: 'sy_new',
      name,
      permissions,
      prefix: 'sy_new',
      created_at: at,
      expires_at: null,
    };
  });
});
afterAll(() => edge?.stop());

async function create(held: readonly Permission[], permissions: readonly Permission[]) {
  const response = await fetch(`${edge.url}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await edge.addKey(held)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'new', permissions }),
  });
  return { status: response.status, text: await response.text() };
}

test.each<[Permission[], Permission]>([
  [['keys:write', 'models:write'], 'billing:write'],
  [['keys:write', 'computers:read'], 'computers:write'],
])('a key with %j cannot give %s', async (held, wanted) => {
  const before = asked.length;
  const { status, text } = await create(held, ['keys:write', wanted]);
  expect(status).toBe(403);
  expect(JSON.parse(text)).toMatchObject({
    error: { code: 'permission_denied', message: expect.stringContaining(wanted) },
  });
  expect(asked).toHaveLength(before);
});

test.each<[readonly Permission[], readonly Permission[]]>([
  [ALL_PERMISSIONS, ALL_PERMISSIONS],
  [
    ['keys:write', 'computers:write'],
    ['computers:read', 'keys:write'],
  ],
])('a key with %j can give %j', async (held, wanted) => {
  expect((await create(held, wanted)).status).toBe(201);
  expect(asked.at(-1)?.body.permissions).toEqual(wanted);
});

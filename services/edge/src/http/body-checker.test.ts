import { makeLogger } from '@switchyard/service';
import type { FastifyRequest } from 'fastify';
import { expect, test, vi } from 'vitest';
import { BodyChecker, INLINE_BODY_BYTES_MAX, ORG_WAITING_MAX } from './body-checker.ts';

test('an org with too many waiting bodies is refused alone, and its Idempotency-Key stays free', async () => {
  const bodies = new BodyChecker(makeLogger('edge', 'silent'));
  const input = 'x'.repeat(INLINE_BODY_BYTES_MAX);
  const forget = vi.fn();
  const check = async (org: string) => {
    const body = Buffer.from(JSON.stringify({ model: 'acme/any', input }));
    const request = { body, apiKey: { org }, idempotent: { forget } };
    return bodies.check('embedding', request as unknown as FastifyRequest);
  };
  const waiting = Array.from({ length: ORG_WAITING_MAX }, () => check('org_busy'));
  const refused = check('org_busy');
  const other = check('org_other');
  await expect(refused).rejects.toMatchObject({ code: 'service_unavailable', retryAfterS: 1 });
  expect(forget).toHaveBeenCalledOnce();
  expect(await other).toEqual({ model: 'acme/any' });
  await Promise.all(waiting);
  await bodies.close();
});

// Idempotency with the stores that it needs.
import { type Bus, bytesLeft, openBucket, openObjectStore } from '@switchyard/bus';
import type { Clock, Logger } from '@switchyard/service';
import { Idempotency } from './idempotency.ts';
import { KeptRequests } from './kept-requests.ts';
import { OrgQuota } from './org-quota.ts';

interface IdempotencyDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

export async function openIdempotency({ bus, clock, logger }: IdempotencyDeps): Promise<Idempotency> {
  const kept = new KeptRequests({
    bucket: await openBucket(bus, 'idempotency'),
    objects: await openObjectStore(bus, 'idempotency'),
    quota: new OrgQuota({
      bucket: await openBucket(bus, 'idempotency-usage'),
      bytesLeft: async () =>
        Math.min(await bytesLeft(bus, 'KV_idempotency'), await bytesLeft(bus, 'OBJ_idempotency')),
      clock,
      logger,
    }),
    logger,
  });
  return new Idempotency({ kept, clock });
}

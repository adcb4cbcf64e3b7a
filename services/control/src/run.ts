// Builds control from its parts.
import { join } from 'node:path';
import { createEventPublisher, ensureEventsStream, mirrorBucket, openBucket, serve } from '@switchyard/bus';
import type { Running, Surroundings } from '@switchyard/service';
import type { Config } from './config.ts';
import { ensureFirstKey } from './keys/first-key.ts';
import { keepTicking } from './keys/tick.ts';
import { register } from './register.ts';

export async function start({ config, bus, logger, clock }: Surroundings<Config>): Promise<Running> {
  await ensureEventsStream(bus);
  const outboxDir = join(config.SWITCHYARD_DATA, 'outbox', 'control');
  const events = await createEventPublisher({ bus, outboxDir, logger });
  const keys = await openBucket(bus, 'keys');
  if (config.SWITCHYARD_KEY !== undefined) await ensureFirstKey(keys, config.SWITCHYARD_KEY, clock.now());
  const known = await mirrorBucket(bus, keys, { tick: false });
  const ticking = keepTicking(bus, keys, logger);
  const service = await serve(bus, {
    name: 'control',
    version: '0.1.0',
    description: 'Keys and orgs, placement and the cap of computers, lost hosts.',
  });
  register(service, { keys, known, events, clock });
  return {
    async stop() {
      await service.drain();
      await ticking.stop();
      known.close();
      await events.close();
    },
  };
}

// Sends the end of a video job to the `callback_url` of its request. One consumer serves all orgs; each org has a few
// slots, so that its slow endpoints do not delay those of other orgs.
import { type Bucket, type Bus, type Delivery, Feed, readEvent, type Verdict } from '@switchyard/bus';
import { EVENTS_STREAM, type SigningSecretRecord, type VideoRecord, videoKey } from '@switchyard/contracts';
import type { Logger } from '@switchyard/service';
import { nextTryMs, type RetrySchedule } from './retry-schedule.ts';
import { type Sender, send } from './send.ts';
import { signingSecretsOf } from './signing-secrets.ts';

interface CallbackFeedOptions extends Sender {
  bus: Bus;
  videos: Bucket<VideoRecord>;
  signingSecrets: Bucket<SigningSecretRecord>;
  schedule: RetrySchedule;
  random: () => number;
  logger: Logger;
}

const ATTEMPTS_MAX = 64;
const ATTEMPTS_PER_ORG_MAX = 8;
/** Delay before an event is retried when all slots of its org are taken. It doubles each time, so that many cost little. */
const PLACE_PAUSE_MS = 1_000;
const PLACE_PAUSE_DOUBLINGS_MAX = 6;
const SUBJECTS = ['event.v1.video.completed.*', 'event.v1.video.failed.*'];

export function startCallbackFeed(options: CallbackFeedOptions): Feed {
  const { bus, clock, logger } = options;
  const busy = new Map<string, number>();
  return new Feed({
    bus,
    stream: EVENTS_STREAM,
    name: 'video-callbacks',
    description: 'tells callback_urls of the end of their videos',
    subjects: SUBJECTS,
    attemptsMax: ATTEMPTS_MAX,
    read: readEvent,
    async attempt(delivery) {
      const { org } = delivery.event.data;
      const attempts = busy.get(org) ?? 0;
      if (attempts >= ATTEMPTS_PER_ORG_MAX)
        return {
          retryInMs: PLACE_PAUSE_MS * 2 ** Math.min(delivery.deliveries - 1, PLACE_PAUSE_DOUBLINGS_MAX),
        };
      busy.set(org, attempts + 1);
      try {
        return await attemptCallback(options, delivery);
      } finally {
        const left = (busy.get(org) ?? 1) - 1;
        if (left > 0) busy.set(org, left);
        else busy.delete(org);
      }
    },
    clock,
    logger,
  });
}

async function attemptCallback(
  deps: CallbackFeedOptions,
  { event, ageMs, signal }: Delivery,
): Promise<Verdict> {
  if (!('video_id' in event.data)) return 'settled'; // the filter lets no such event through
  const { org, video_id: id } = event.data;
  const url = (await deps.videos.get(videoKey(org, id)))?.value.callback_url ?? null;
  if (url === null) return 'settled';
  const secrets = await signingSecretsOf(deps.signingSecrets, org);
  const outcome = await send(deps, { url, secrets }, event, signal);
  if (outcome.taken || outcome.gone) return 'settled';
  const retryInMs = nextTryMs(deps.schedule, ageMs, deps.random);
  if (retryInMs !== null) return { retryInMs };
  deps.logger.warn({ video: id, status: outcome.status }, 'a callback was not accepted and is given up');
  return 'settled';
}

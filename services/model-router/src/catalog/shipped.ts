// The catalog files shipped with Switchyard, in load order.
import { join } from 'node:path';

/** One file per maker; the local models need none. */
const FILES = [
  'local.yaml',
  'local-more.yaml',
  'local-video.yaml',
  'openai.yaml',
  'anthropic.yaml',
  'google.yaml',
  'mistral.yaml',
  'xai.yaml',
  'cohere.yaml',
  'voyage.yaml',
  'elevenlabs.yaml',
  'deepgram.yaml',
  'black-forest-labs.yaml',
  'fal.yaml',
  'replicate.yaml',
];

export const SHIPPED_CATALOGS: readonly string[] = FILES.map((file) =>
  join(import.meta.dirname, '../../catalog', file),
);

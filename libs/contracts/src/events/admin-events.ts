// Events of what an org or its operator sets up: webhooks, the signing secret, keys of makers.
import { z } from 'zod';
import { administered } from './administered.ts';
import { defineEvent } from './define-event.ts';

const ofOrg = administered.extend({ org: z.string() });
const webhookChanged = ofOrg.extend({ webhook_id: z.string() });
const providerChanged = ofOrg.extend({ provider: z.string() });

const WEBHOOK_SHOWS = ['webhook_id', 'request_id'] as const;
const PROVIDER_SHOWS = ['provider', 'request_id'] as const;

export const adminEvents = {
  'webhook.created': defineEvent({
    meaning: 'A webhook was created.',
    by: 'control',
    data: webhookChanged,
    shows: WEBHOOK_SHOWS,
  }),
  'webhook.updated': defineEvent({
    meaning: 'A webhook was changed; without an `actor`, deliveries failed and it was disabled.',
    by: 'control',
    data: webhookChanged,
    shows: WEBHOOK_SHOWS,
  }),
  'webhook.rotated': defineEvent({
    meaning: 'A webhook was given another secret.',
    by: 'control',
    data: webhookChanged,
    shows: WEBHOOK_SHOWS,
  }),
  'webhook.deleted': defineEvent({
    meaning: 'A webhook was deleted.',
    by: 'control',
    data: webhookChanged,
    shows: WEBHOOK_SHOWS,
  }),
  'signing_secret.rotated': defineEvent({
    meaning: 'The secret that signs for the `callback_url`s of an org was replaced.',
    by: 'control',
    data: ofOrg,
    shows: ['org', 'request_id'],
  }),
  'provider.updated': defineEvent({
    meaning: 'An operator set the API key of a maker; the event never has the key.',
    by: 'control',
    data: providerChanged,
    shows: PROVIDER_SHOWS,
  }),
  'provider.deleted': defineEvent({
    meaning: 'An operator removed the API key of a maker that was set.',
    by: 'control',
    data: providerChanged,
    shows: PROVIDER_SHOWS,
  }),
} as const;

/** The same fact always has the same id: `revision` is that of the record that the change replaced. */
export const adminEventIds = {
  webhook: (webhookId: string, change: 'created' | 'deleted') => `${webhookId}:${change}`,
  webhookChanged: (webhookId: string, change: 'updated' | 'rotated', revision: number) =>
    `${webhookId}:${change}:${revision}`,
  /** `changeId` is new for each change: a record that does not exist has no revision. */
  signingSecret: (org: string, changeId: string) => `${org}:signing_secret:${changeId}`,
  provider: (maker: string, changeId: string) => `provider_${maker}:${changeId}`,
} as const;

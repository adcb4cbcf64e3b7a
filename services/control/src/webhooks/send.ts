// One attempt to deliver one event to one URL, signed as Standard Webhooks.
import { ServiceError, type StoredSecrets, type WebhookMessage, webhookBody } from '@switchyard/contracts';
import type { Egress } from '@switchyard/egress';
import type { Clock } from '@switchyard/service';
import { Webhook } from 'standardwebhooks';
import { inForce } from './secrets.ts';

/** Time for an endpoint to answer. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/** Only the status of an answer is used; a longer body is cut off. */
const ANSWER_BYTES_MAX = 64 * 1024;
const USER_AGENT = 'switchyard-webhooks';
const GONE = 410;

interface Destination {
  readonly url: string;
  readonly secrets: StoredSecrets;
}

export type Outcome =
  | { readonly taken: true; readonly status: number }
  | {
      readonly taken: false;
      /** Status of the answer; null without an answer. */
      readonly status: number | null;
      readonly message: string;
      /** The endpoint wants no further events. */
      readonly gone: boolean;
    };

export interface Sender {
  readonly egress: Egress;
  readonly clock: Clock;
}

/** @throws the signal's reason. Errors of the endpoint are outcomes, not exceptions. */
export async function send(
  { egress, clock }: Sender,
  { url, secrets }: Destination,
  message: WebhookMessage,
  signal: AbortSignal,
): Promise<Outcome> {
  const body = webhookBody(message);
  try {
    const answer = await egress.fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': USER_AGENT,
        ...signatureOf(message.id, body, inForce(secrets, clock.now()), clock.now()),
      },
      body,
      bytesMax: ANSWER_BYTES_MAX,
      timeoutMs: ATTEMPT_TIMEOUT_MS,
      redirectsMax: 0,
      signal,
    });
    answer.close();
    if (answer.status >= 200 && answer.status < 300) return { taken: true, status: answer.status };
    const failure = `the endpoint answered ${answer.status}`;
    return { taken: false, status: answer.status, message: failure, gone: answer.status === GONE };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ServiceError)) throw error;
    return { taken: false, status: null, message: error.message, gone: false };
  }
}

function signatureOf(id: string, body: string, secrets: StoredSecrets, now: number): Record<string, string> {
  const at = new Date(now);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1_000)),
    'webhook-signature': secrets.map(({ secret }) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}

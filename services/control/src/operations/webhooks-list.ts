import {
  type OperationRequest,
  type OperationResponse,
  pageFrom,
  toWebhookObject,
} from '@switchyard/contracts';
import type { WebhookOperations } from '../webhooks/webhook-operations.ts';

/** Lists an org's webhooks, newest first. */
export function listWebhooks({ webhooks }: Pick<WebhookOperations, 'webhooks'>) {
  return async ({
    org,
    query,
  }: OperationRequest<'webhooks.list'>): Promise<OperationResponse<'webhooks.list'>> => {
    const records = (await webhooks.entries(`${org}.>`)).map(({ value }) => value);
    const data = records
      .sort((a, b) => b.created_at.localeCompare(a.created_at) || a.id.localeCompare(b.id))
      .map(toWebhookObject);
    return pageFrom(data, query, ({ id }) => id);
  };
}

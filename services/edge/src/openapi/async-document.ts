// Builds the AsyncAPI 3 document of the event stream from the schemas of the events.
import { EVENTS, type EventName, errorBody, streamedEvent } from '@switchyard/contracts';
import { z } from 'zod';
import { Schemas } from './schemas.ts';

/** The last event of a stream that ends early. */
const streamError = z.object({
  type: z.literal('error').describe('Always error'),
  error: errorBody.shape.error,
});

/** Describes `GET /v1/events`: one message for each event. */
export function asyncApiDocument(): Record<string, unknown> {
  const schemas = new Schemas();
  const messages = {
    ...Object.fromEntries(
      Object.entries(EVENTS).map(([name, { meaning, data }]) => {
        const payload = streamedEvent.extend({ type: z.literal(name as EventName), data });
        return [name, message(name, meaning, schemas.inline(payload, 'output'))];
      }),
    ),
    error: message('error', 'The stream ends early.', schemas.inline(streamError, 'output')),
  };
  return schemas.document({
    asyncapi: '3.0.0',
    info: {
      title: 'Switchyard events',
      version: '1',
      description:
        'The events of an org, as server-sent events: `event` is the type, `id` a position to resume from, and `data` one of these messages as JSON. Webhooks send the same without `id`.',
    },
    defaultContentType: 'application/json',
    channels: {
      events: {
        address: '/v1/events',
        description: 'Needs an API key with the permission `usage:read`; see /v1/openapi.json.',
        messages: Object.fromEntries(
          Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
    },
    operations: {
      streamEvents: {
        action: 'send',
        channel: { $ref: '#/channels/events' },
        summary: 'The events of your org as they happen',
      },
    },
    components: { messages },
  });
}

function message(name: string, summary: string, payload: Record<string, unknown>) {
  return { name, title: name, summary, contentType: 'application/json', payload };
}

// Request headers of the routes that begin charged work, as the OpenAPI document describes them.
import {
  CLIENT_REQUEST_ID_HEADER,
  CLIENT_REQUEST_ID_LENGTH_MAX,
  TAGS_HEADER,
  TAGS_MAX,
  TRACEPARENT_HEADER,
} from '@switchyard/contracts';

const header = (name: string, description: string, schema: Record<string, unknown> = {}) => ({
  ...{ name, in: 'header', required: false, description },
  schema: { type: 'string', ...schema },
});

export const CALLER_HEADERS = [
  header(
    TAGS_HEADER,
    `Tags of the charge, as name=value,name=value (at most ${TAGS_MAX}): Usage groups by one, Logs filter by them`,
    { examples: ['team=search,user=42'] },
  ),
  header(CLIENT_REQUEST_ID_HEADER, 'Your id for this request; its event and its line in Logs carry it', {
    ...{ minLength: 1, maxLength: CLIENT_REQUEST_ID_LENGTH_MAX },
  }),
  header(
    TRACEPARENT_HEADER,
    'The trace that the request belongs to (W3C Trace Context); its event and its line in Logs carry it',
  ),
];

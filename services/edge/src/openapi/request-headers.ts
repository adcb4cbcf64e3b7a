// Request headers of routes, as the OpenAPI document describes them. Names are written as in docs; HTTP ignores case.
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

/** Of the routes that begin charged work. */
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

/** Of content that is sent in parts. */
export const RANGE_HEADERS = [
  header('Range', 'The part to send, as 206; several ranges get the whole', { examples: ['bytes=0-1023'] }),
];

/** Of content with an `ETag`. */
export const TAG_HEADERS = [
  header('If-Range', 'An `ETag`: `Range` applies only if the content still has it'),
  header('If-None-Match', 'An `ETag`: 304 if the content still has it'),
];

/** Of a write that may be refused with `precondition_failed`. */
export const PRECONDITION_HEADERS = [
  header('If-Match', 'An `ETag`: write only if the file still has it'),
  header('If-None-Match', '`*`: write only if there is no file', { examples: ['*'] }),
];
